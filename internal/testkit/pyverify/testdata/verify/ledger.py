"""The file of a ledger."""
import base64, functools, os, re, sqlite3, struct
from collections import defaultdict
from anchors import vouch
from judge import Facts, count
from notes import Checkpoint, Tree, need, open_note, sha, token
from orders import Issuers, Orders, fits, has, notes_of, word
from records import Row, chunk, leaf_text
from selection import FOREVER, restrict_run, restrict_time


SCHEMA = """
CREATE TABLE producers (producer INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE runs (run INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE leaves (
	leaf INTEGER PRIMARY KEY,
	class TEXT NOT NULL,
	id TEXT NOT NULL,
	producer INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	run INTEGER NOT NULL,
	kind TEXT NOT NULL,
	time TEXT NOT NULL,
	hash BLOB NOT NULL,
	finding TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	stored INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX leaves_id ON leaves (id) WHERE class = 'event';
CREATE INDEX leaves_producer ON leaves (producer, sequence);
CREATE INDEX leaves_run ON leaves (run);
CREATE TABLE payloads (leaf INTEGER PRIMARY KEY, bytes BLOB NOT NULL, blob INTEGER, cut INTEGER) STRICT;
CREATE TABLE blobs (blob INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, content BLOB NOT NULL) STRICT;
CREATE TABLE chunks (
	whole BLOB NOT NULL, part INTEGER NOT NULL, leaf INTEGER NOT NULL,
	PRIMARY KEY (whole, part, leaf)
) STRICT, WITHOUT ROWID;
CREATE TABLE hashes (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE seen (
	seen INTEGER PRIMARY KEY,
	leaf INTEGER NOT NULL,
	producer INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	hash BLOB NOT NULL,
	epoch INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	stored INTEGER NOT NULL
) STRICT;
CREATE INDEX seen_producer ON seen (producer, sequence);
CREATE TABLE orders (
	leaf INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	action TEXT NOT NULL,
	effect TEXT NOT NULL,
	hold TEXT NOT NULL
) STRICT;
CREATE TABLE erased (leaf INTEGER PRIMARY KEY, word TEXT NOT NULL, ordered INTEGER NOT NULL) STRICT;
CREATE INDEX erased_ordered ON erased (ordered, leaf);
CREATE TABLE checkpoints (checkpoint INTEGER PRIMARY KEY, size INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
"""


ROWS_OF_SCHEMA = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1, 2"


@functools.cache
def own_schema():
    own = sqlite3.connect(":memory:")
    own.text_factory = bytes
    own.executescript(SCHEMA)
    return own.execute(ROWS_OF_SCHEMA).fetchall()


def open_ledger(path):
    path = os.path.realpath(path)
    log = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
    need(os.path.getsize(path) > 0, "the file is empty")
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(uri + ("?mode=ro" if log else "?immutable=1"), uri=True, isolation_level=None)
    db.text_factory = bytes
    db.execute("PRAGMA trusted_schema=0"), db.execute("BEGIN")
    need(db.execute(ROWS_OF_SCHEMA).fetchall() == own_schema(), "the tables are not those of a ledger")
    need(db.execute("PRAGMA application_id").fetchone() == (0x48544C47,) and db.execute("PRAGMA user_version").fetchone() == (2,), "not a ledger of this version")
    need(db.execute("PRAGMA integrity_check(1)").fetchone() == (b"ok",), "the database is damaged")
    return db


def names(db, what):
    rows = db.execute(f"SELECT {what}, name FROM {what}s ORDER BY 1").fetchall()
    need([n for n, _ in rows] == list(range(1, len(rows) + 1)) and all(name for _, name in rows), "a %s is out of place", what)
    return [b""] + [name for _, name in rows]


def read_ledger(db, tenant):
    """Returns the leaves and repetitions in the order of the stream, and the checkpoints. All else of the file must follow from them."""
    producers, runs = names(db, "producer"), names(db, "run")
    erased = {leaf: (w.decode(), order) for leaf, w, order in db.execute("SELECT leaf, word, ordered FROM erased")}
    blobs = {n: (hash, content) for n, hash, content in db.execute("SELECT blob, hash, content FROM blobs")}
    need(all(sha(content) == hash for hash, content in blobs.values()), "the content of a blob differs from its hash")
    payloads = {row[0]: row[1:] for row in db.execute("SELECT leaf, bytes, blob, cut FROM payloads")}
    rows, chunks, tree, used = [], set(), Tree(), (set([0]), set([0]), set())
    for leaf, cls, id, p, sequence, r, kind, time, hash, finding, epoch, stream, stored in db.execute("SELECT * FROM leaves ORDER BY leaf"):
        need(leaf == len(rows) and 0 <= p < len(producers) and 0 <= r < len(runs) and len(hash) == 32 and sequence >= 0, "leaf %d is out of place", leaf)
        used[0].add(p), used[1].add(r)
        row = Row(index=leaf, cls=cls, id=id, producer=producers[p], sequence=sequence, run=runs[r], kind=kind, time=time, hash=hash, finding=finding, at=(epoch, stream), stored=stored)
        rows.append(row)
        row.node = sha(b"\0" + leaf_text(row))
        tree.add(row.node)
        row.removed = erased.pop(leaf, None)
        need((leaf in payloads) != bool(row.removed), "leaf %d: its record is missing, or there and erased", leaf)
        if row.removed:
            need(row.removed[0] in ("erased", "pruned") and row.removed[1] > leaf, "leaf %d: what became of its record makes no sense", leaf)
            continue
        data, blob, cut = payloads.pop(leaf)
        need((blob is None) == (cut is None), "leaf %d: either the content of its chunk or its place is not named", leaf)
        if blob is not None:
            need(blob in blobs and 0 <= cut <= len(data), "leaf %d: the content of its chunk is missing", leaf)
            used[2].add(blob)
            data = data[:cut] + base64.b64encode(blobs[blob][1]) + data[cut:]
        row.decode(data, tenant)
        c = chunk(row.event, data) if cls == b"event" and kind == b"blob.chunk" else None
        need((c is not None) == (blob is not None) and (c is None or c[3] == cut), "leaf %d: its record lies in the tables as no writer puts it there", leaf)
        if c:
            chunks.add((c[0], c[1], leaf))
    need(not payloads and not erased, "there are records without a leaf")
    need(chunks == set(db.execute("SELECT whole, part, leaf FROM chunks")), "the table of chunks differs from the records")
    stored = b"".join(tree.stored)
    hashes = db.execute("SELECT chunk, bytes FROM hashes ORDER BY chunk").fetchall()
    need(hashes == [(i, stored[at:at + 8192]) for i, at in enumerate(range(0, len(stored), 8192))], "the stored hashes differ from the leaves")
    again = []
    for seen, leaf, p, sequence, hash, epoch, stream, stored in db.execute("SELECT * FROM seen ORDER BY seen"):
        need(seen == len(again) + 1 and 0 <= p < len(producers) and 0 <= leaf < len(rows) and len(hash) == 32, "seen again: row %d is out of place", seen)
        used[0].add(p)
        again.append(Row(index=leaf, producer=producers[p], sequence=sequence, hash=hash, at=(epoch, stream), stored=stored, run=rows[leaf].run, kind=rows[leaf].kind))
    need(used == (set(range(len(producers))), set(range(len(runs))), set(blobs)), "a producer, run or blob belongs to no leaf")
    arrivals = sorted(rows + again, key=lambda r: r.at)
    need([r for r in arrivals if r.cls] == rows and [r for r in arrivals if not r.cls] == again, "messages are not in the order of the stream")
    return rows, arrivals


def digest_of(digest, r):
    head = digest + struct.pack(">Bqqqq", not r.cls, r.index, *r.at, r.stored)
    return sha(head if r.cls else head + struct.pack(">q", r.sequence) + r.hash + r.producer)


def compare(outside, tree, digest, count):
    """Compares checkpoints from outside with the ledger after some arrivals."""
    for o in outside:
        if o.usable and o.at.arrivals == count:
            o.compared = (tree.size, tree.root(), digest) == (o.at.size, o.at.root, o.at.digest)


def check_checkpoints(db, arrivals, keys, origin, outside):
    """Replays the arrivals and compares each checkpoint. Returns the newest one, and the number of arrivals and the time of each break of the stream."""
    table = [(n, size, Checkpoint(note)) for n, size, note in db.execute("SELECT checkpoint, size, note FROM checkpoints ORDER BY 1")]
    need(table and table[0][2].arrivals == 0, "the first checkpoint is missing")
    before, breaks, tree, digest, at, hash, count = table[0][2], [], Tree(), bytes(32), (0, 0), bytes(32), 0
    compare(outside, tree, digest, 0)
    for i, (number, size, c) in enumerate(table):
        need(number == c.number == i + 1 and size == c.size and c.origin == origin, "checkpoint %d is out of place", number)
        need(c.time >= before.time and c.size >= before.size and c.arrivals >= before.arrivals, "checkpoint %d is older than the one before it", number)
        open_note(c.note, keys.at(c.size))
        need(c.arrivals <= len(arrivals), "leaves are missing behind checkpoint %d", number)
        for r in arrivals[count:c.arrivals]:
            need(r.at > at, "leaf %d: its message is not behind the one before it", r.index)
            need(r.cls or r.index < tree.size, "seen again: it names a later leaf")
            digest, at, hash = digest_of(digest, r), r.at, r.hash
            if r.cls:
                tree.add(r.node)
            count += 1
            compare(outside, tree, digest, count)
        need((tree.size, tree.root(), digest) == (c.size, c.root, c.digest), "checkpoint %d: what it signs is not there", number)
        if (c.position, c.hash) != (at, hash):
            need(count and c.position > at, "checkpoint %d: its message is not the last one", number)
            breaks.append((count, c.time))
            at, hash = c.position, c.hash
        before = c
    need(before.arrivals == len(arrivals), "leaves are behind the newest checkpoint")
    return before, breaks


def check_orders(db, rows, orders):
    """Every erased record must have an order whose effect it is, and every such order must have erased all its records."""
    claims = defaultdict(int)

    def here(o, leaf):
        if o["size"] > leaf + 1:
            return False
        tree = Tree()
        for r in rows[:o["size"]]:
            tree.add(r.node)
        return tree.root() == o["root"]

    def selected(o, r, leaf):
        mine = r.removed and r.removed[1] == leaf
        if mine and "event" in o and r.kind == b"blob.chunk":
            return True
        return fits(o, r) and ("user" not in o or mine or not r.removed and r.event and r.event["userid"] == o["user"])

    for r in rows:
        if r.removed:
            claims[r.removed[1]] += 1
    for r in rows:
        o = orders.open(r)
        if not o or not word(o) or "effect" in o:
            continue
        if here(o, r.index):
            concerned = [x for first, last in o["ranges"] for x in rows[first:last + 1]]
        else:
            concerned = [x for x in rows[:r.index] if o["action"] == "erase" and selected(o, x, r.index)]
        targets = [x for x in concerned if x.index < r.index and x.removable() and (not x.removed or x.removed[1] >= r.index)]
        o["effect"] = "done"
        for h in orders.holds:
            same = here(h, r.index)
            covers = lambda x: same and has(h, x.index) or (h["user"] == o.get("user") if "user" in h else fits(h, x))
            if any(covers(x) for x in targets):
                o["effect"] = "held"
        if any(orders.protects(o, r, x) for x in targets):
            o["effect"] = "floor"
        if o["effect"] == "done":
            need(all(x.removed == (word(o), r.index) for x in targets), "a record is there that order %s destroyed", o["id"])
            need(claims.pop(r.index, 0) == len(targets), "records are missing that order %s does not concern", o["id"])
    need(not claims, "records are missing in the name of orders that had no effect")
    want = [(leaf, o["id"], o["action"], o["effect"], o.get("hold", "")) for leaf, o in orders.rows]
    need([tuple(x.decode() if isinstance(x, bytes) else x for x in row) for row in db.execute("SELECT leaf, id, action, effect, hold FROM orders ORDER BY leaf")] == want,
         "the table of orders differs from the orders")


def tenant_of(db, tenant):
    """Returns the tenant of a ledger and the name of its origin."""
    first = db.execute("SELECT note FROM checkpoints ORDER BY checkpoint LIMIT 1").fetchone()
    need(first, "no checkpoint is there")
    origin = Checkpoint(first[0]).origin
    if tenant is None:
        tenant = re.sub(r"=([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), "" if origin == "=" else origin).encode("latin-1").decode()
    need(origin == token(tenant), "it is of another tenant")
    return tenant, origin


def verify_ledger(q, key, outside, report):
    need(key, "no key is given")
    db = open_ledger(q.file)
    try:
        tenant, origin = tenant_of(db, q.tenant)
        rows, arrivals = read_ledger(db, tenant)
        notes = notes_of(rows)
        keys, report["anchor"] = vouch(q, key, origin, tenant, notes, lambda keys: key in keys.chain)
        orders = Orders(keys, tenant)
        for o in outside:
            if o.usable:
                o.check(keys)
        newest, breaks = check_checkpoints(db, arrivals, keys, origin, outside)
        check_orders(db, rows, orders)
    finally:
        db.close()
    for o in outside:
        o.conclude(newest)
    as_of = max([newest.time] + [o.at.time for o in outside if o.usable and not o.diverged and o.at.arrivals == newest.arrivals])
    if q.policy:
        witnessed = [o for o in outside if o.kind == "witnessed" and o.usable and not o.diverged]
        report["witnessed"] = any(q.policy.met(o.note, o.at, newest) for o in witnessed)
    report["counts"] = count(rows, arrivals)
    facts = Facts(arrivals, False, q.silence, as_of, Issuers(keys, tenant, notes), [at for at, _ in breaks])
    facts.acknowledged = orders.acknowledged
    report["completeness"] = facts.verdict(newest.size == 0)
    if q.run:
        report["completeness"] = restrict_run(facts, q.run.encode())
    if q.since is not None or q.until is not None:
        broke, facts.size = breaks[-1][1] if breaks else None, newest.size
        report["completeness"] = restrict_time(facts, q.since or 0, FOREVER if q.until is None else q.until, broke)
    return facts
