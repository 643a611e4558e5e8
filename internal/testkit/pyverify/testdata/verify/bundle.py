"""Bundles."""
import base64, re, zipfile
from collections import defaultdict
from about import read_about
from anchors import consistent, read_continued, vouch
from judge import Facts, count
from ledger import digest_of
from notes import Bad, Checkpoint, Incomparable, Key, Tree, lines, need, ns, open_note, sha, token
from orders import Issuers, Orders, has, key_change, notes_of, word
from page import page
from records import HASH, LEAF, Row, event_time, leaf_text, members, parse


SELECTION = ["origin", "tree", "run", "from", "to", "times", "leaves", "again", "checkpoint", "bundle", "page"]
FILES = ["bundle.json", "checkpoint.txt", "ledger.pub", "witnessed.txt", "timestamp.txt", "leaves.jsonl", "records.jsonl", "again.jsonl", "tree.txt", "index.html", "selection.txt", "SHA256SUMS"]


def version_of(files):
    """The version of a bundle with these files."""
    return 3 if "timestamp.txt" in files else 2 if "selection.txt" in files else 1


def read_bundle(path):
    try:
        with zipfile.ZipFile(path) as z:
            found, files = [i.filename for i in z.infolist()], {i.filename: z.read(i) for i in z.infolist()}
    except (zipfile.BadZipFile, NotImplementedError) as e:
        raise Bad(str(e))
    left_out = [(), ("selection.txt", "timestamp.txt"), ("timestamp.txt",), ()][version_of(found)]
    names = [f for f in FILES if f not in left_out]
    need(sorted(found) == sorted(names), "the bundle has other files")
    need(files["SHA256SUMS"] == b"".join(b"%s  %s\n" % (sha(files[f]).hex().encode(), f.encode()) for f in names[:-1]), "SHA256SUMS is wrong")
    return files


def split(data, name):
    need(not data or data.endswith(b"\n"), "%s: a line without an end", name)
    return data.split(b"\n")[:-1]


def json_line(line, names):
    pairs = parse(line)
    value = members(pairs)
    need(value and len(value) == len(pairs) and set(value) <= set(names), "a line with a member that is unknown or there twice")
    need(None not in value.values(), "a line with null")
    return value


def record_of(line):
    if line == b"null":
        return None
    if line.startswith(b'"') and line.endswith(b'"'):
        data = base64.b64decode(line[1:-1], validate=True)
        need(base64.b64encode(data) == line[1:-1] and not (data.startswith(b"{") and not re.search(rb"[\r\n]", data)), "not a record")
        return data
    need(line.startswith(b"{") and b"\r" not in line, "not a record")
    return line


def bundle_leaves(files, tenant):
    texts, records = split(files["leaves.jsonl"], "leaves.jsonl"), split(files["records.jsonl"], "records.jsonl")
    need(len(texts) == len(records), "leaves.jsonl and records.jsonl have different lines")
    rows = []
    for line, record in zip(texts, records):
        j = json_line(line, ["index", "leaf", "leaf_base64", "epoch", "stream", "stored", "removed", "order"])
        text = base64.b64decode(j["leaf_base64"], validate=True) if "leaf_base64" in j else j["leaf"].encode()
        f = lines(text, b"hooktrail/leaf/v1\n", LEAF)
        row = Row(index=j["index"], cls=f["class"], hash=bytes.fromhex(f["sha256"].decode()), sequence=int(f.get("sequence", 0)),
                  at=(j["epoch"], j["stream"]), stored=ns(j["stored"]) if "stored" in j else 0, **{n: f.get(n, b"") for n in ("id", "producer", "run", "kind", "time", "finding")})
        need(leaf_text(row) == text, "leaf %d is not in canonical form", row.index)
        row.node, row.data = sha(b"\0" + text), None
        need(row.index > (rows[-1].index if rows else -1), "leaf %d is out of order", row.index)
        rows.append(row)
        data = record_of(record)
        if j.get("removed"):
            row.removed = (j["removed"], j.get("order", 0))
            need(data is None and row.removed[1] > row.index and row.removed[0] in ("erased", "pruned") and row.removable(), "leaf %d: what became of its record makes no sense", row.index)
        else:
            need(data is not None, "leaf %d: its record is missing", row.index)
            row.data = data
            row.decode(data, tenant)
    again = []
    for line in split(files["again.jsonl"], "again.jsonl"):
        j = json_line(line, ["leaf", "run", "kind", "producer", "sequence", "sha256", "epoch", "stream", "stored"])
        need(re.fullmatch(HASH, j["sha256"]), "again.jsonl: not a hash")
        again.append(Row(index=j["leaf"], producer=j["producer"].encode(), sequence=j["sequence"], hash=bytes.fromhex(j["sha256"]), run=j.get("run", "").encode(),
                         kind=j.get("kind", "").encode(), at=(j["epoch"], j["stream"]), stored=ns(j["stored"]) if "stored" in j else 0))
    arrivals, rest = [], list(again)
    for row in rows:
        while rest and rest[0].at < row.at:
            arrivals.append(rest.pop(0))
        arrivals.append(row)
    return rows, arrivals + rest


def bundle_tree(files, rows, size, outside):
    tree, rest = Tree(), split(files["tree.txt"], "tree.txt")
    for row in rows + [None]:
        end = row.index if row else size
        while True:
            for o in outside:
                if o.at.size == tree.size:
                    o.compared = tree.root() == o.at.root
            if tree.size >= end:
                break
            need(rest, "tree.txt: a line is missing")
            level, number, hash = rest.pop(0).split(b" ")
            need(int(number) << int(level) == tree.size and int(level) < 63, "tree.txt: a subtree is out of place")
            tree.add(base64.b64decode(hash, validate=True), int(level))
        need(tree.size == end, "tree.txt: a subtree reaches over a leaf")
        if row:
            tree.add(row.node)
    need(not rest, "tree.txt has more lines than it needs")
    return tree.root()


def check_selection(files, about, c, keys):
    """Returns whether the key in charge signed the selection."""
    if not files.get("selection.txt"):
        return False
    f = {n: v.decode() for n, v in lines(open_note(files["selection.txt"], keys.at(c.size + 1)), b"hooktrail/selection/v1\n", SELECTION).items()}
    hashes = {n: sha(files[x]).hex() for n, x in (("checkpoint", "checkpoint.txt"), ("bundle", "bundle.json"), ("page", "index.html"))}
    want = hashes | {"origin": "hooktrail/" + c.origin, "tree": "%d %s" % (c.size, base64.b64encode(c.root).decode())}
    for name in ("leaves", "again"):
        data = files[name + ".jsonl"]
        want[name] = "%d %s" % (data.count(b"\n"), sha(data).hex())
    for name in ("run", "from", "to", "times"):
        if about.get(name):
            want[name] = event_time(about[name]) if name in ("from", "to") else about[name]
    need(f == want, "selection.txt: the bundle is not what was signed")
    return True


def bundle_orders(rows, keys, orders):
    """Checks that orders in the bundle concern the erased records. Returns the leaves of orders that are not of the selection."""
    claims, extra = defaultdict(list), set()
    for r in rows:
        if r.index in claims or r.index in keys.recorded:
            extra.add(r.index)
        o = orders.open(r)
        if o and o["action"] in ("floor", "approvers"):
            extra.add(r.index)
        if o and r.index in claims and "effect" not in o:
            gone = claims.pop(r.index)
            need(not any(orders.protects(o, r, x) for x in gone), "an order was to prune what the retention floor protects")
            o["effect"] = "done"
            if o["size"] > r.index:
                ok = o["action"] == "erase" and ("run" not in o or all(x.run == o["run"].encode() for x in gone))
            else:
                ok = all(has(o, x.index) for x in gone)
            need(ok and all(x.removed[0] == word(o) for x in gone), "an order does not concern all records that name it")
        if r.removed:
            claims[r.removed[1]].append(r)
    need(not claims, "records name an order that is missing")
    return extra


def selected(about, r):
    if about.get("times"):
        return about.get("run", "").encode() in (b"", r.run) and (not about.get("from") or r.stored >= max(ns(about["from"]), 1)) and (not about.get("to") or 0 < r.stored < ns(about["to"]))
    time = r.time.decode()
    bounds = [event_time(about[n]) if about.get(n) else "" for n in ("from", "to")]
    return about.get("run", "").encode() in (b"", r.run) and (not bounds[0] or time >= bounds[0]) and (not bounds[1] or time and time < bounds[1])


def check_files(files, about, c, rows, own, attested):
    """Compares bundle.json and the page with the leaves."""
    need(len(rows) == about["leaves"] and (not rows or rows[-1].index < c.size), "bundle.json counts other leaves")
    seals, run = {}, about.get("run", "").encode()
    for r in rows:
        if run and r.cls == b"event" and r.kind == b"run.sealed" and r.run == run and r.sequence >= seals.get(r.producer, r).sequence:
            seals[r.producer] = r
    said = [{"producer": p.decode(), "sequence": r.sequence, "sha256": r.hash.hex()} for p, r in sorted(seals.items())]
    need(about["format"].endswith("v1") or said == (about.get("seals") or []), "bundle.json names other seals")
    times = [event_time(about[n]) if about.get(n) else "" for n in ("from", "to")]
    shown = page(about, times, own, base64.b64encode(c.root).decode(), c.signed, [(r, r.data) for r in rows])
    need(attested or shown == files["index.html"], "index.html shows something else than the records")


def verify_bundle(q, key, outside, report):
    files = read_bundle(q.file)
    about, c = read_about(files["bundle.json"]), Checkpoint(files["checkpoint.txt"])
    ranged = bool(about.get("from") or about.get("to"))
    if about["format"] in ("hooktrail/bundle/v4", "hooktrail/bundle/v5"):
        of_run = about["format"].endswith("v5") and not ranged and about.get("run") and not about.get("times")
        need(of_run or ranged and about.get("times") == "stored", "neither a run nor a range of time by the times of storage")
        need(about["format"].endswith("v4") or about.get("stamped", False) == ("timestamp.txt" in files), "timestamp.txt is missing, or should be")
        need(version_of(files) > 1 and (about.get("window") or about["format"].endswith("v4")), "the selection or the verdict of the ledger is missing")
    else:
        need(about["format"] == "hooktrail/bundle/v%d" % version_of(files) and "times" not in about and "window" not in about, "another format")
    need(token(about["tenant"]) == c.origin and about["size"] == c.size and q.tenant in (None, about["tenant"]), "bundle.json is about another ledger")
    own, tenant = files["ledger.pub"].decode(), about["tenant"]
    whole, run = not any(about.get(n) for n in ("run", "from", "to")), about.get("run") and not about.get("from") and not about.get("to")
    rows, arrivals = bundle_leaves(files, tenant)
    notes = notes_of(rows)
    keys, report["anchor"] = vouch(q, key or Key(own), c.origin, tenant, notes, lambda keys: signed_by(c, keys), pending_changes(about, c, tenant, notes))
    need(signed_by(c, keys), "no key in charge signed checkpoint.txt")
    need(Key(own) in keys.chain, "ledger.pub is not a key of this ledger")
    issuers, orders = Issuers(keys, tenant, notes), Orders(keys, tenant)
    attested = check_selection(files, about, c, keys)
    cosigned = read_continued(files["witnessed.txt"], keys, c) if files["witnessed.txt"] else None
    if "timestamp.txt" in files:
        read_continued(files["timestamp.txt"], keys, c, stamp=True)
    need(bundle_tree(files, rows, c.size, outside) == c.root, "the root of the leaves and the tree differs from the signed one")
    extra = bundle_orders(rows, keys, orders) | {leaf for leaf, _ in issuers.orders}
    need(all(r.index in extra or run and r.cls == b"manifest" or selected(about, r) for r in rows), "a leaf is not of what was selected")
    check_files(files, about, c, rows, own.removesuffix("\n"), attested)
    if whole:
        digest = bytes(32)
        for r in arrivals:
            digest = digest_of(digest, r)
        need((len(rows), len(arrivals), digest) == (c.size, c.arrivals, c.digest), "records are missing, or came from elsewhere")
    report["counts"] = count(rows, arrivals)
    for o in outside:
        o.check(keys)
        if o.compared is None and not o.diverged:
            raise Incomparable("the trusted checkpoint cannot be compared with this bundle")
        o.diverged = o.diverged or not o.compared or o.at.origin != c.origin
    if q.policy:
        report["witnessed"] = bool(cosigned) and q.policy.met(*cosigned, c)
    said = about.get("window") if attested and run else None
    facts = Facts(arrivals, not whole, q.silence, c.time, issuers, skip=extra if not whole else frozenset(), foreign=said.get("foreign") or [] if said else ())
    facts.acknowledged = orders.acknowledged
    if not whole and not run:
        return judge_range(facts.of_nothing(), about, attested, report)
    return judge_bundle(facts, about, run, attested, c, orders, report)


def judge_range(facts, about, attested, report):
    """Takes over the verdict of the ledger, because the range cuts runs."""
    if about.get("times") and attested and about.get("window"):
        facts.window = w = about["window"]
        report["completeness"], facts.quiet = w["completeness"], not about.get("run")
        if about["format"].endswith("v5"):
            facts.take_over(w)
            facts.listed_none()
            facts.said = w.get("acknowledged")
        else:
            facts.more_foreign = w.get("foreign_count", 0)
    return facts


def judge_bundle(facts, about, run, attested, c, orders, report):
    """Adds what only the ledger shows, as bundle.json says."""
    verdict = facts.verdict(c.size == 0)
    for name in about.get("unheard") or []:
        if name.encode() in facts.producers:
            facts.producers[name.encode()].unheard = True
    doubtful = not attested
    if run and attested and about.get("window"):
        verdict, doubtful = judge_run(facts, about["window"], about["run"].encode())
    elif run:
        facts.gaps += map(gap_of, about.get("gaps") or [])
        verdict = "GAPS" if facts.gaps else verdict
        for a in about.get("absent") or []:
            if a["producer"].encode() in facts.producers:
                p = facts.producers[a["producer"].encode()]
                p.is_silent, p.lost = not a.get("lost"), a["lost"].get("last", 0) if a.get("lost") else None
        unsealed = facts.of("unsealed")
        doubtful = doubtful or not unsealed and (not facts.of("sealed") or about.get("unsealed"))
    for o in about.get("acknowledged") or []:
        if run and attested:
            orders.open(Row(index=o["leaf"], cls=b"event", kind=b"audit.accessed", stored=0, event={"data": (("order", o["order"]),)}))
    if verdict == "COMPLETE" and not facts.window and (doubtful or about.get("unheard") or run and about.get("absent")):
        verdict = "UNPROVEN"
    facts.doubtful, report["completeness"] = bool(doubtful), verdict
    return facts


def pending_changes(about, c, tenant, notes):
    """The changes of the key that the ledger had not recorded, with its size then."""
    changes = []
    for p in about.get("pending") or []:
        o, at = key_change(p["order"].encode()), Checkpoint(p["checkpoint"].encode())
        open_note(at.note, [o["key"]], only=False)
        proof = [base64.b64decode(h, validate=True) for h in p.get("proof") or []]
        need(o["tenant"] == tenant and at.origin == c.origin and p["order"].encode() not in [n for _, n in notes], "a pending change is not of this ledger")
        need(at.size > 0 and consistent(proof, at.size, at.root, c.size, c.root), "checkpoint.txt does not continue the one of a pending change")
        changes.append((at.size, o))
    return changes


def gap_of(g):
    return g["producer"].encode(), g["first"], g["last"], g["cause"], g.get("run", "").encode()


def judge_run(facts, said, run):
    """Takes over the verdict of the ledger. The seals must fit the records nevertheless."""
    own, facts.window = [g for g in facts.gaps if g[3] == "seal"], said
    facts.take_over(said)
    facts.gaps = list(map(gap_of, said.get("gaps") or []))
    wrong = [g for g in own if g not in facts.gaps]
    facts.gaps += wrong
    facts.shown = {p["producer"].encode(): SaidProducer(p) for p in said["producers"] or []}
    facts.states = {run: "unsealed"} if said.get("unsealed_runs") else {}
    doubtful = not said["runs"]["sealed"] and not said.get("unsealed_runs") or bool(said.get("unproven_because"))
    return "GAPS" if wrong else said["completeness"], doubtful


class SaidProducer:
    """A producer in the verdict of the ledger."""

    def __init__(self, p):
        self.name, self.sent, self.received, self.listed, self.own = p["producer"].encode(), p["sent"], range(p["held"]), p["listed"], p["manifests"]
        self.enrolled, self.unheard, self.is_silent, self.in_flight = p.get("enrolled"), p.get("unheard", False), p.get("silent", False), p["in_flight"]
        self.lost, self.unchecked = p["lost"].get("last", 0) if p.get("lost") else None, p.get("unchecked", False)

    def unproven(self):
        return self.is_silent or self.lost is not None or self.unheard or self.unchecked or bool(self.received) and self.sent > self.listed and not self.in_flight


def signed_by(c, keys):
    try:
        return bool(open_note(c.note, keys.at(c.size + 1), only=False))
    except Bad:
        return False
