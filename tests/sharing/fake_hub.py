"""The routes of the Hugging Face hub that its client needs here, on this machine alone."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPO = r"/api/models/([\w.-]+/[\w.-]+)"


class Hub:
    """Repositories by name: a list of commits, each the files that it holds."""

    def __init__(self):
        self.repos = {}
        self.requests = []
        self.cards = []
        self.before_creation, self.before_commit = {}, {}
        """What happens to a repository while a client is at it: functions by its name."""
        self.lies = {}
        """What is said of a repository in place of the truth: a body and headers."""

    def commits(self, name):
        return self.repos[name]["commits"]

    def sha(self, name, number=-1):
        numbers = range(len(self.commits(name)))
        return hashlib.sha1(f"{name} {numbers[number]}".encode()).hexdigest()

    def files(self, name, revision):
        """The files of a commit, its name, or None where there is none."""
        for number in range(len(self.commits(name))):
            if revision == self.sha(name, number):
                return self.commits(name)[number], revision
        return (self.commits(name)[-1], self.sha(name)) if revision == "main" else (None, None)


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_):
        pass

    def reply(self, body=b"", status=200, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(data), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def missing(self, code):
        self.reply({"error": code}, 404, X_Error_Code=code, X_Error_Message=code)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.hub.requests.append(f"{self.command} {path}")
        name = (re.match(REPO, path) or re.match(r"/([\w.-]+/[\w.-]+)/resolve", path))[1]
        if name in self.hub.lies and self.command == "GET":
            body, headers = self.hub.lies[name]
            return self.reply(body, **headers)
        if name not in self.hub.repos:
            return self.missing("RepoNotFound")
        if match := re.fullmatch(rf"{REPO}(?:/revision/(\w+))?", path):
            return self.info(name, match[2] or "main")
        if match := re.fullmatch(rf"{REPO}/tree/(\w+)", path):
            files, _ = self.hub.files(name, match[2])
            return self.reply([self.entry(file, data) for file, data in files.items()])
        match = re.fullmatch(r"/[\w.-]+/[\w.-]+/resolve/(\w+)/(.+)", path)
        files, sha = self.hub.files(name, match[1])
        if files is None:
            return self.missing("RevisionNotFound")
        if match[2] not in files:
            return self.missing("EntryNotFound")
        data = files[match[2]]
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        return self.reply(data, ETag=etag, X_Repo_Commit=sha)

    def info(self, name, revision):
        files, sha = self.hub.files(name, revision)
        if files is None:
            return self.missing("RevisionNotFound")
        siblings = [{"rfilename": file} for file in files]
        return self.reply({"id": name, "sha": sha, "private": False, "siblings": siblings})

    @staticmethod
    def entry(file, data):
        oid = hashlib.sha1(data).hexdigest()
        return {"type": "file", "path": file, "size": len(data), "oid": oid}

    def do_POST(self):
        self.hub.requests.append(f"POST {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != "Bearer hf_right":
            return self.reply({"error": "Unauthorized"}, 401)
        if self.path == "/api/repos/create":
            facts = json.loads(body)
            name = f"{facts.get('organization') or 'user'}/{facts['name']}"
            new = {"commits": [{".gitattributes": b""}], "private": bool(facts.get("private"))}
            new = {"visibility": facts.get("visibility"), **new}
            self.hub.before_creation.pop(name, bool)()
            if name in self.hub.repos:
                return self.reply({"error": "exists"}, 409)
            self.hub.repos[name] = new
            return self.reply({"url": f"http://{self.headers['Host']}/{name}"})
        if self.path == "/api/validate-yaml":
            self.hub.cards.append(json.loads(body)["content"])
            return self.reply({"errors": [], "warnings": []})
        name = re.match(REPO, self.path)[1]
        if "/preupload/" in self.path:
            how = {"uploadMode": "regular", "shouldIgnore": False}
            last = self.hub.commits(name)[-1]
            files = [
                {"path": path, **how, "oid": git_sum(last[path]) if path in last else None}
                for path in (file["path"] for file in json.loads(body)["files"])
            ]
            return self.reply({"files": files})
        self.hub.before_commit.pop(name, bool)()
        files = dict(self.hub.commits(name)[-1])
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "header":
                parent = line["value"].get("parentCommit")
                if parent not in (None, self.hub.sha(name)):
                    return self.reply({"error": "a commit has happened since"}, 412)
            elif line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[line["value"]["path"]]
        self.hub.commits(name).append(files)
        url = f"http://{self.headers['Host']}/{name}/commit/{self.hub.sha(name)}"
        return self.reply({"success": True, "commitOid": self.hub.sha(name), "commitUrl": url})


def git_sum(data):
    """The name that git gives to the content of a file."""
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()


@contextmanager
def serve():
    """A hub on a free port of this machine, and its address."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Handler,), {"hub": hub}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
