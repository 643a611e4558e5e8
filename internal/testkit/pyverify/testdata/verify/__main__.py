"""Verifies a ledger.db or a bundle by docs/verifier.md, docs/formats.md and docs/events.md.

    verify FILE --key KEY [--tenant T] [--trusted CHECKPOINT] …
    verify --serve    answers requests on stdin, one JSON object per line

It needs Python 3.11 and `cryptography`, and holds the whole ledger in memory.
"""
import argparse, base64, json, os, sqlite3, sys
sys.dont_write_bytecode = True  # a verifier changes no file
from types import SimpleNamespace
from anchors import Outside, Policy
from bundle import verify_bundle
from ledger import verify_ledger
from notes import Bad, Key, ns
from records import reading

SILENCE = 30 * 60 * 10**9
QUESTION = {"file": None, "key": None, "tenant": None, "trusted": None, "checkpoint_file": None, "witness_policy": None, "data_dir": None, "known": None,
            "run": None, "from": None, "to": None, "silence": SILENCE, "require_trusted": False, "require_enrolled": False, "allow_acknowledged": False}
DAMAGE = (Bad, sqlite3.DatabaseError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError, ValueError)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def text_of(value):
    """The text of a file, or the value itself if it names none."""
    return read(value).decode() if os.path.exists(value) else value


def outside(q):
    """The checkpoints from elsewhere. Only the one that the user trusts must be there."""
    found = [Outside(text_of(q.trusted).encode(), "trusted")] if q.trusted else []
    if q.checkpoint_file and os.path.exists(q.checkpoint_file):
        found.append(Outside(read(q.checkpoint_file), "file"))
    cosigned = os.path.join(os.path.dirname(q.file), "witnessed.checkpoint")
    if q.policy and os.path.exists(cosigned):
        found.append(Outside(read(cosigned), "witnessed"))
    return [o for o in found if o.usable]


def keys_of(q, is_bundle):
    """Returns the key, and removes it from the question if nothing from elsewhere names it."""
    folder = q.data_dir or os.path.join(os.path.dirname(os.path.abspath(q.file)), "..", "..")
    own = os.path.join(folder, "keys", "ledger.pub")
    if q.key:
        key = Key(text_of(q.key))
        if not is_bundle and os.path.exists(q.key) and os.path.exists(own) and os.path.samefile(q.key, own):
            q.key = None
        return key
    return None if is_bundle or not q.data_dir else Key(read(own).decode())


def verify(**question):
    q = SimpleNamespace(**(QUESTION | question))
    report = {"integrity": "VERIFIED", "completeness": "UNPROVEN", "problem": None, "anchor": "GIVEN", "diverged": False, "witnessed": True, "foreign": 0,
              "gaps": [], "findings": 0, "not_enrolled": [], "counts": {}, "new": [], "acknowledged": []}
    is_bundle, q.since, q.until = read(q.file)[:2] == b"PK", ns(getattr(q, "from")) if getattr(q, "from") else None, ns(q.to) if q.to else None
    key, q.policy = keys_of(q, is_bundle), Policy(text_of(q.witness_policy)) if q.witness_policy else None
    if is_bundle:
        q.data_dir = None
    kept = outside(q)
    report["witnessed"] = not q.policy
    incomplete = contradicts = False
    try:
        facts = (verify_bundle if is_bundle else verify_ledger)(q, key, [o for o in kept if o.kind == "trusted" or not is_bundle], report)
        incomplete, contradicts = facts.exit(report, q.allow_acknowledged)
        report |= {"gaps": [show(g) for g in facts.gaps], "foreign": len(facts.foreign) + facts.more_foreign, "foreign_records": [show_record(r) for r in facts.foreign], "findings": len(facts.claims) + facts.more_claims + facts.denied,
                   "not_enrolled": [p.name.decode("utf-8", "replace") for p in facts.shown.values() if not p.enrolled]}
        report["counts"] |= facts.counts()
        if facts.window:
            report |= {"not_enrolled": [p["producer"] for p in facts.window["producers"] or [] if not p.get("enrolled")]}
            report["counts"] |= facts.window["runs"]
    except DAMAGE as e:
        report["integrity"], report["problem"] = "INVALID", "%s: %s" % (type(e).__name__, e)
    given = [o for o in kept if o.usable and o.kind != "witnessed"]
    report["diverged"] = any(o.diverged for o in kept)
    if report["anchor"] == "NONE" and (any(not o.diverged for o in given) or q.policy and report["witnessed"]):
        report["anchor"] = "GIVEN"
    status = {10: not report["witnessed"], 11: incomplete or q.require_enrolled and report["not_enrolled"], 12: contradicts, 20: q.require_trusted and not given,
              21: report["anchor"] == "NONE", 30: report["diverged"] or report["anchor"] == "DIVERGED", 40: report["integrity"] == "INVALID"}
    report["exit"] = max([0] + [s for s, applies in status.items() if applies])
    return report


def show(gap):
    name, first, last, cause, run = gap
    return "%s #%d-%d: %s %s" % (name.decode("utf-8", "replace"), first, last, cause, run.decode("utf-8", "replace"))


def show_record(r):
    number = r.manifest["last"] if r.manifest else r.sequence
    return "leaf %d, %s: %s #%d, %s" % (r.index, (r.cls or b"again").decode(), r.producer.decode("utf-8", "replace"), number, r.hash.hex())


def serve():
    for line in sys.stdin:
        try:
            question = json.loads(line)
            answer = reading(base64.b64decode(question["read"])) if "read" in question else verify(**question)
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, e)}
        print(json.dumps(answer), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="?"), p.add_argument("--serve", action="store_true")
    for name in ("key", "tenant", "trusted", "checkpoint-file", "witness-policy", "data-dir", "run", "from", "to"):
        p.add_argument("--" + name)
    p.add_argument("--known-ledgers", dest="known")
    for name in ("require-trusted", "require-enrolled", "allow-acknowledged"):
        p.add_argument("--" + name, action="store_true")
    a = vars(p.parse_args())
    if a.pop("serve"):
        return serve()
    report = verify(**a)
    print(json.dumps(report, indent=2))
    sys.exit(report["exit"])


if __name__ == "__main__":
    main()
