#!/bin/sh
# Train and score pieces of the evidence (docs/results/DOCUMENT/PIECE.toml) on a GPU machine that is there for minutes.
#
#   sh bench/bare.sh fetch scikit-learn joblib threadpoolctl narwhals    once, where there is a network
#   sh bench/evidence.sh mushom2020/beta_vae [more pieces]               until it says that a piece is whole
#   SECONDS_LEFT=540 sh bench/evidence.sh ...                            stops in time; what follows `--` goes to `unknot study run`
#
# Pieces are trained one after the other in build/running. When the time is over, or all is done, $OUT (default
# build/evidence) gets for each piece at work its archive without weights, DOCUMENT_PIECE.zip, its table of runs,
# DOCUMENT_PIECE.csv, and what it said, DOCUMENT_PIECE.log. On another machine a piece goes on from the archive in
# build/evidence: finished populations are kept, others start again. A piece that is whole takes seconds.
set -eu
cd "$(dirname "$0")/.."
began=$(date +%s)
left=${SECONDS_LEFT:-540}
out=${OUT:-build/evidence}
running=build/running
mkdir -p "$out" "$running" build/evidence

unknot() { sh bench/bare.sh -m unknot "$@"; }

pieces=
while [ $# -gt 0 ]; do
    if [ "$1" = -- ]; then shift; break; fi
    pieces="$pieces $1"; shift
done
[ -n "$pieces" ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for piece in $pieces; do
    [ -f "docs/results/$piece.toml" ] || { echo "There is no piece $piece: docs/results/$piece.toml is missing." >&2; exit 2; }
done

worst=0
for piece in $pieces; do
    name=$(echo "$piece" | tr / _)
    study=$running/$name
    log=$out/$name.log
    if [ ! -d "$study" ] && [ -f "build/evidence/$name.zip" ]; then
        "${PYTHON:-python3}" -m zipfile -e "build/evidence/$name.zip" "$study"
        echo "$piece goes on from build/evidence/$name.zip."
    fi
    # Writing an archive and a table takes seconds; a stop lets populations write checkpoints.
    now=$(($(date +%s) - began))
    if [ $((left - now)) -lt 60 ]; then
        echo "No time is left for $piece."
        break
    fi
    machine=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
    echo "$(date -u +%F) ${machine:-CPU}" >"$log"  # docs/evidence.py reads it
    status=0
    timeout -s INT -k 60 $((left - now - 30)) sh bench/bare.sh -m unknot study run "docs/results/$piece.toml" \
        --out "$study" "$@" >>"$log" 2>&1 || status=$?
    tail -n 5 "$log"
    # Before the first population is finished there is nothing to archive, and the command says so.
    if [ -f "$study/study.db" ] && unknot archive "$study" --weights none --force --out "$out/$name.zip"; then
        unknot study table "$study" --csv "$out/$name.csv" >/dev/null
    fi
    case $status in
        0) echo "$piece is whole." ;;
        124 | 130) echo "$piece is not whole; run this again."; exit 0 ;;
        *) echo "$piece failed with exit code $status; see $log." >&2; worst=$status ;;
    esac
done
exit "$worst"
