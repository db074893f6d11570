"""What a run writes for others: a page with sliders, an exported model, a model on the hub."""

from pathlib import Path
from typing import TYPE_CHECKING

from unknot.api.progress import say
from unknot.core.border import as_path, check_type
from unknot.core.typed import typed
from unknot.runs import run

if TYPE_CHECKING:
    from unknot.report.explorer.forms import Form


class Publishing(run.Run):
    """Files that are read without unknot."""

    def explorer(
        self,
        path: str | Path,
        *,
        other: run.Run | None = None,
        member: int = 0,
        images: bool = True,
        form: "Form | None" = None,
    ) -> Path:
        """Write one HTML file in which people move the latents; it needs no server and no network.

        Args:
            path: The file; one that is there is overwritten.
            other: Another run on the same data, to compare under the same sliders.
            member: Which model, if there are several.
            images: Put some images of the data and their codes into it.
            form: ``float16`` or ``int8`` puts the weights of the decoder into it, ``frames``
                pictures alone; what fits when None.

        Raises:
            ConfigError: The model diverged, or the other run is of other data.
            ShapeError: The data is a table.
            StoreError: The path is a folder.
        """
        from unknot.report.explorer.forms import check_form
        from unknot.report.explorer.model import explorer_model
        from unknot.report.explorer.page import check_path, explorer

        check_path(path := as_path("path", path))
        check_form(form)
        check_type("images", images, bool)
        check_type("other", other, run.Run, type(None))
        runs = [self] if other is None else [self, other]
        models = [explorer_model(run, member) for run in runs]
        return explorer(models, images=images, form=form).write(path)

    @typed("onnx", "overwrite")
    def export(
        self,
        path: str | Path,
        *,
        member: int = 0,
        license: str = "unknown",
        onnx: bool | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the model for others: plain PyTorch, ONNX and a model card, in one folder.

        ``model.py`` and ``model.safetensors`` need no unknot; `unknot.load` reads ``run`` in it.

        Args:
            path: A new or empty folder.
            member: Which model, if there are several.
            license: For the card, an identifier of the hub such as ``mit``.
            onnx: Write ONNX files; if the extra ``onnx`` is installed when None.
            overwrite: Replace a model that was exported there before.

        Raises:
            ConfigError: The model diverged, or has a layer that cannot be exported.
            StoreError: The folder holds something else.
        """
        from unknot.sharing.folder import export

        exported = export(
            self, path, member=member, license=license, onnx=onnx, overwrite=overwrite
        )
        for note in exported.notes:
            say(note)
        return exported.path

    @typed("private", "onnx")
    def push(
        self,
        name: str,
        *,
        member: int = 0,
        license: str = "unknown",
        private: bool = False,
        onnx: bool | None = None,
    ) -> str:
        """Put the model on the Hugging Face hub; gives the address that `unknot.load` takes.

        What is put there is what `export` writes. Log in before with ``hf auth login``, or set
        ``HF_TOKEN``. Needs the extra ``hub``.

        Args:
            name: ``user/name``.
            member: Which model, if there are several.
            license: For the card, an identifier of the hub such as ``mit``.
            private: Make a new repository private.
            onnx: Write ONNX files; if the extra ``onnx`` is installed when None.

        Raises:
            ConfigError: The extra is not installed, or nobody is logged in.
            StoreError: The repository holds files of others.
            DownloadError: The hub refused, or could not be reached.
        """
        from unknot.sharing import hub

        pushed = hub.push(self, name, member=member, license=license, private=private, onnx=onnx)
        for note in pushed.exported.notes:
            say(note)
        say(f"{pushed.url}, revision {pushed.revision}, model.safetensors SHA-256 {pushed.sha256}")
        return f"{hub.PREFIX}{name}@{pushed.revision}"
