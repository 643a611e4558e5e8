"""Verifies a ledger.db or a bundle by docs/verifier.md, docs/formats.md and docs/events.md.

    verify.py FILE --key KEY [--tenant T] [--trusted CHECKPOINT] [--require-trusted] [--require-enrolled]
    verify.py --serve    answers requests on stdin, one JSON object per line

It needs Python 3.11 and `cryptography`. It holds the whole ledger in memory, builds no
index.html and knows neither pins nor witness policies.
"""
import argparse, base64, binascii, bisect, calendar, datetime, fnmatch, functools, hashlib, itertools, json, os, re, sqlite3, struct, sys, zipfile
from collections import defaultdict
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SILENCE = 30 * 60 * 10**9
SERVICE = {"producer.lost", "run.sealed", "gap.recorded", "issue.decided", "issue.edited", "audit.accessed", "clock.ticked"}
KEPT = {"audit.accessed", "run.sealed", "gap.recorded"}  # no order destroys events of these kinds
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


class Incomparable(Exception):
    """The evidence does not show whether it agrees with a trusted checkpoint."""


class Bad(Exception):
    """The evidence is not as it was signed."""


def need(ok, text, *args):
    if not ok:
        raise Bad(text % args)


def sha(data):
    return hashlib.sha256(data).digest()


# Notes and keys

class Key:
    def __init__(self, text):
        self.text = text.strip()
        name, number, public = self.text.split("+", 2)
        raw = base64.b64decode(public, validate=True)
        need(len(raw) == 33 and raw[0] == 1, "not an Ed25519 verifier key")
        self.raw, self.name, self.hash, self.public = raw[1:], name, sha(name.encode() + b"\n" + raw)[:4], Ed25519PublicKey.from_public_bytes(raw[1:])
        need(self.hash.hex() == number, "the number of the verifier key is wrong")

    def __eq__(self, other):
        return self.text == other.text

    def signed(self, text, signature):
        try:
            self.public.verify(signature, text)
            return True
        except InvalidSignature:
            return False


def read_note(note):
    """Returns the text of a note and its signatures as (name, key hash, signature)."""
    at = note.rfind(b"\n\n")
    need(at >= 0 and note.endswith(b"\n"), "not a signed note")
    signatures = []
    for line in note[at + 2:-1].split(b"\n"):
        m = re.fullmatch(rb"\xe2\x80\x94 ([^ +]+) ([A-Za-z0-9+/=]+)", line)
        need(m, "not a signature line")
        raw = base64.b64decode(m[2], validate=True)
        need(base64.b64encode(raw) == m[2] and len(raw) > 4, "not a signature line")
        signatures.append((m[1].decode(), raw[:4], raw[4:]))
    return note[:at + 1], signatures


def open_note(note, keys, only=True):
    """Returns the text if one of keys signed it, and with only nothing else did."""
    text, signatures = read_note(note)
    mine = [(k, s) for n, h, s in signatures for k in keys if (k.name, k.hash) == (n, h)]
    need(mine and (not only or len(signatures) == 1), "no key in charge signed it, or not only one")
    need(all(k.signed(text, s) for k, s in mine), "a signature is wrong")
    return text


def token(tenant):
    return "".join(chr(c) if chr(c).isalnum() and c < 128 or c in b"_-" else "=%02X" % c for c in tenant.encode()) or "="


def ns(text):
    """Nanoseconds of an RFC 3339 time in UTC."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    need(m, "not a time")
    return calendar.timegm(datetime.datetime.fromisoformat(m[1]).timetuple()) * 10**9 + int((m[2] or "").ljust(9, "0"))


class Checkpoint:
    FORM = re.compile(r"hooktrail/([^\n]+)\n(0|[1-9]\d*)\n(\S{44})\ncheckpoint ([1-9]\d*)\ntime (\S{30})\n"
                      r"arrivals (0|[1-9]\d*) (\S{44})\nstream (0|[1-9]\d*) (\S{30}) (0|[1-9]\d*) ([0-9a-f]{64})\n")

    def __init__(self, note):
        self.note, text = note, read_note(note)[0]
        m = self.FORM.fullmatch(text.decode())
        need(m, "not a checkpoint")
        self.origin, self.size, self.number, self.arrivals = m[1], int(m[2]), int(m[4]), int(m[6])
        self.root, self.digest = base64.b64decode(m[3], validate=True), base64.b64decode(m[7], validate=True)
        self.time, self.stream = ns(m[5]), m[9]
        self.position, self.hash = (int(m[8]), int(m[10])), bytes.fromhex(m[11])


class Keys:
    """The keys of a ledger in the order of their changes, and the leaves that put them in charge."""

    def __init__(self, key, tenant, orders):
        changes = []
        for leaf, note in orders:
            try:
                o = key_change(note)
            except (Bad, ValueError):
                continue
            if o["tenant"] == tenant:
                changes.append((leaf, o["old"], o["key"]))
        self.chain, self.since, until = [key], [-1], float("inf")
        while found := [c for c in changes if c[2] == self.chain[0] and c[0] < until]:  # towards older keys
            leaf, before, _ = found[0]
            if before in self.chain:
                break
            self.since[0] = until = leaf
            self.chain.insert(0, before), self.since.insert(0, -1)
        while found := [c for c in changes if c[1] == self.chain[-1] and c[0] > self.since[-1]]:
            leaf, _, after = found[0]
            if after in self.chain:
                break
            self.chain.append(after), self.since.append(leaf)

    def at(self, size):
        return self.chain[sum(s < size for s in self.since[1:]):]

    def effect(self, leaf, before):
        """The effect of an order at leaf that replaces a key, or None if that was not in charge."""
        charge = self.at(leaf)
        if before not in charge:
            return None
        i = len(self.chain) - len(charge) + charge.index(before) + 1
        return "done" if i < len(self.chain) and self.since[i] == leaf else "void"


# Texts of lines: leaves, orders, selections

ESCAPED = re.compile(rb"[\x00-\x1f%\x7f]")


def escape(value):
    return ESCAPED.sub(lambda m: b"%%%02X" % m[0][0], value)


def lines(text, header, names):
    """Returns the fields of a text in canonical form, whose names are in that order."""
    need(text.startswith(header), "the first line is wrong")
    fields = {}
    for line in text[len(header):].split(b"\n")[:-1]:
        name, _, raw = line.partition(b" ")
        value = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), raw)
        need(escape(value) == raw and value, "a value is not in canonical form")
        fields[name.decode()] = value
    need(text == header + b"".join(n.encode() + b" " + escape(fields[n]) + b"\n" for n in names if n in fields), "not in canonical form")
    need(set(fields) <= set(names), "an unknown line")
    return fields


LEAF = ["class", "id", "producer", "sequence", "run", "kind", "time", "sha256", "finding"]
ORDER = ["tenant", "action", "id", "time", "by", "reason", "ticket", "run", "event", "user", "kind", "from", "to", "hold", "old", "key", "findings", "issuer", "floor", "approvers", "for", "within", "tree", "leaves"]
SELECTION = ["origin", "tree", "run", "from", "to", "leaves", "again", "checkpoint", "bundle", "page"]


def leaf_text(r):
    values = [r.cls, r.id, r.producer, b"%d" % r.sequence if r.sequence else b"", r.run, r.kind, r.time, r.hash.hex().encode(), r.finding]
    return b"hooktrail/leaf/v1\n" + b"".join(n.encode() + b" " + escape(v) + b"\n" for n, v in zip(LEAF, values) if v)


PLAIN = ("lift", "key", "issuer", "revoke", "acknowledge", "floor", "approvers")  # they select no records


def read_order(text):
    o = {n: v.decode() for n, v in lines(text, b"hooktrail/order/v1\n", ORDER).items()}
    need(all(o.get(n) for n in ("action", "id", "by", "reason", "time", "tree")), "a line is missing")
    o["tenant"] = o.get("tenant", "")
    ns(o["time"])
    size, root = o["tree"].split(" ")
    o["size"], o["root"], o["ranges"] = int(size), base64.b64decode(root, validate=True), []
    for part in o.get("leaves", "").split():
        first, _, last = part.partition("-")
        first, last = int(first), int(last or first)
        need((o["ranges"][-1][1] + 2 if o["ranges"] else 0) <= first <= last < o["size"], "leaves are not ascending ranges")
        o["ranges"].append((first, last))
    selection, action = {n for n in ("run", "event", "user", "kind", "from", "to") if n in o}, o["action"]
    need((action == "key") == ("key" in o) == ("old" in o), "old or key is wrong")
    for line, actions in (("hold", ["lift"]), ("issuer", ["issuer", "revoke"]), ("findings", ["acknowledge"]), ("floor", ["floor"])):
        need((line in o) == (action in actions), "%s is wrong", line)
    rule = {"approvers", "for", "within"} & set(o)
    need(not rule or action == "approvers" and len(rule) == 3, "a rule is wrong")
    need(action in PLAIN or action == "hold" or action == "erase" and selection & {"run", "event", "user"} or action == "prune" and "to" in o, "not an order")
    need(action not in PLAIN or not selection - ({"from"} if action == "revoke" else set()) and not o["ranges"], "it selects records")
    o["approvers"], o["for"] = [Key(k) for k in o.get("approvers", "").split()], o.get("for", "").split()
    o["floor"], o["within"] = int(o.get("floor", 0)) * 10**9, int(o.get("within", 0)) * 10**9
    return o


def key_change(note):
    text, signatures = read_note(note)
    o = read_order(text)
    need(o["action"] == "key" and o["old"] != o["key"], "it changes no key")
    o["old"], o["key"] = Key(o["old"]), Key(o["key"])
    need([s[:2] for s in signatures] == [(k.name, k.hash) for k in (o["old"], o["key"])], "not signed by both keys")
    need(all(k.signed(text, s[2]) for k, s in zip((o["old"], o["key"]), signatures)), "a signature is wrong")
    return o


# The tree

class Tree:
    """An RFC 6962 tree that grows to the right. stored has the hashes in the order in which they become known."""

    def __init__(self):
        self.size, self.tops, self.stored = 0, [], []

    def add(self, hash, level=0):
        self.size += 1 << level
        self.stored.append(hash)
        while self.tops and self.tops[-1][0] == level:
            hash, level = sha(b"\1" + self.tops.pop()[1] + hash), level + 1
            self.stored.append(hash)
        self.tops.append((level, hash))

    def root(self):
        if not self.tops:
            return sha(b"")
        hash = self.tops[-1][1]
        for _, left in reversed(self.tops[:-1]):
            hash = sha(b"\1" + left + hash)
        return hash


def root_of(hashes):
    tree = Tree()
    for h in hashes:
        tree.add(sha(b"\0" + h))
    return tree.root()


# Records

def parse(data):
    """JSON, with objects as tuples of pairs, because a repeated name matters."""
    def constant(_):
        raise ValueError("not JSON")
    value = json.loads(data.decode(), object_pairs_hook=tuple, parse_constant=constant, parse_float=str)
    if b"\\ud" in data.lower():
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate has no UTF-8
    return value


def members(pairs):
    return dict(pairs) if isinstance(pairs, tuple) else {}


def event_time(text):
    if not text:
        return ""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", text, re.ASCII)
    need(m, "not a time")
    t = datetime.datetime.fromisoformat(m[1] + "T" + m[2])
    if m[4]:
        offset = datetime.timedelta(hours=int(m[5]), minutes=int(m[6]))
        need(int(m[5]) < 24 and int(m[6]) < 60, "not a time")
        t = t - offset if m[4] == "+" else t + offset
    return "%04d%s.%sZ" % (t.year, t.strftime("-%m-%dT%H:%M:%S"), ((m[3] or "") + "0" * 9)[:9])


def read_event(data):
    """The attributes of an event that the ledger needs, or None."""
    try:
        pairs = parse(data)
        e = dict(pairs)
        need(len(e) == len(pairs) and e.get("specversion") == "1.0", "not an event")
        texts = {n: e.get(n) or "" for n in ("id", "source", "type", "time", "sequence", "tenant", "producer", "runid", "toolcall", "userid")}
        need(all(isinstance(v, str) for v in texts.values()) and texts["id"] and texts["source"] and texts["type"], "not an event")
        need(re.fullmatch(r"([1-9][0-9]*)?", texts["sequence"]) and not ("data" in e and "data_base64" in e), "not an event")
        kind = texts["type"][len("hooktrail."):] if texts["type"].startswith("hooktrail.") else ""
        return texts | {"kind": kind or "custom", "time": event_time(texts["time"]), "sequence": int(texts["sequence"] or 0), "data": members(e.get("data")), "pairs": e.get("data"), "base64": e.get("data_base64")}
    except (Bad, ValueError, TypeError, RecursionError, OverflowError):
        return None


MANIFEST = ["v", "tenant", "producer", "first", "last", "count", "missing", "prev", "root", "state", "interval", "beat", "key", "next", "grant", "sig"]
GRANT = ["issuer", "tenant", "producer", "key", "issued", "expires", "endorsed", "sig"]
NKEY, SIGNATURE, HASH = r"U[A-Z2-7]{55}", r"[A-Za-z0-9+/]{86}==", r"[0-9a-f]{64}"


def ordered(pairs, names):
    """A JSON object whose members are there once, in the order of names."""
    need([n for n in names if n in dict(pairs)] == [n for n, _ in pairs], "members are unknown, twice or out of order")
    return dict(pairs)


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def signed_by(nkey, text, signature):
    """Whether an nkey of a user signed a text."""
    raw = base64.b32decode(nkey)
    try:
        Ed25519PublicKey.from_public_bytes(raw[1:33]).verify(base64.b64decode(signature), text)
    except InvalidSignature:
        return False
    return raw[0] == 20 << 3 and struct.unpack("<H", raw[33:])[0] == binascii.crc_hqx(raw[:33], 0)


def read_manifest(data):
    """A manifest with "signed", which is None without a signature and otherwise whether it holds, or None."""
    try:
        pairs = parse(data)
        m = dict(pairs)
        need(len(m) == len(pairs) and set(m) <= set(MANIFEST), "a member is unknown or there twice")
        m["missing"] = [ordered(r, ["first", "last", "reason"]) for r in m.get("missing", [])]
        need(all(type(m.get(n)) is int for n in ("v", "first", "last", "count")) and m["producer"] and m["first"] > 0, "a member is missing")
        m = {"tenant": "", "prev": "", "state": "", "interval": 0, "beat": 0, "next": ""} | m
        empty = (m["beat"] or m["next"]) and m["first"] > 1 and m["last"] == m["first"] - 1
        need((m["first"] <= m["last"] or empty) and m["last"] < 2**63, "numbers are wrong")
        need(re.fullmatch(HASH, m["root"]) and (not m["prev"] or re.fullmatch(HASH, m["prev"])), "root or prev is wrong")
        at, count = m["first"], m["last"] - m["first"] + 1
        for r in m["missing"]:
            need(at <= r["first"] <= r["last"] <= m["last"], "missing is wrong")
            at, count = r["last"] + 1, count - (r["last"] - r["first"] + 1)
        need(m["count"] == count, "count is wrong")
        if m["v"] == 1:
            need(not set(m) & {"key", "grant", "sig"} and not (m["state"] or m["interval"] or m["beat"] or m["next"]), "version 1 has no such member")
            return m | {"signed": None}
        own = ordered(pairs, MANIFEST)
        if own.get("missing"):
            own["missing"] = m["missing"]
        if "grant" in own:
            m["grant"] = own["grant"] = grant = ordered(own["grant"], GRANT)
            need(re.fullmatch(NKEY, grant["issuer"]) and re.fullmatch(NKEY, grant["key"]) and re.fullmatch(SIGNATURE, grant["sig"]) and "issued" in grant, "grant is wrong")
            unsigned = {n: v for n, v in grant.items() if n != "sig"}
            m["granted"] = signed_by(grant["issuer"], b"hooktrail/grant/v1\n" + encode(unsigned), grant["sig"])
        need(m["v"] == 2 and encode(own) == data, "not in canonical form")
        need(m["state"] in ("", "open", "closed") and (m["state"] == "open") == (m["interval"] > 0) and (not m["beat"] or m["state"] and empty), "state is wrong")
        need(re.fullmatch(NKEY, m["key"]) and (not m["next"] or re.fullmatch(NKEY, m["next"])) and re.fullmatch(SIGNATURE, m["sig"]), "key or sig is wrong")
        own.pop("sig")
        return m | {"signed": signed_by(m["key"], b"hooktrail/manifest/v2\n" + encode(own), m["sig"])}
    except (Bad, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def derived(*parts):
    h = bytearray(sha(b"".join(struct.pack(">Q", len(p.encode())) + p.encode() for p in parts))[:16])
    h[6], h[8] = h[6] & 15 | 128, h[8] & 63 | 128
    x = h.hex()
    return "-".join((x[:8], x[8:12], x[12:16], x[16:20], x[20:]))


def chunk(e, data):
    """Returns (whole, part, content, cut) of a blob.chunk whose content the ledger stores apart, or None."""
    d = e["data"]
    try:
        whole, content = bytes.fromhex(d["sha256"]), base64.b64decode(d["content"], validate=True)
        field = b'"content":"' + base64.b64encode(content) + b'"'
        at = data.find(field)
        ok = len(d["sha256"]) == 64 and d["sha256"] == d["sha256"].lower() and d["index"] >= 0 and content and at >= 0
        return (whole, d["index"], content, at + len(b'"content":"')) if ok else None
    except (ValueError, TypeError, KeyError):
        return None


class Row:
    """A leaf, or with cls None an event seen again, whose run and kind are those of the leaf."""

    def __init__(self, **fields):
        self.cls, self.event, self.manifest, self.removed, self.finding = None, None, None, None, b""
        self.__dict__.update(fields)

    def decode(self, data, tenant):
        """Compares a leaf with its record."""
        need(sha(data) == self.hash, "leaf %d: its record was altered", self.index)
        self.event = e = read_event(data)
        self.manifest = m = None if e else read_manifest(data)
        if self.cls in (b"event", b"conflict"):
            said = e and tuple(x.encode() for x in (e["id"], e["producer"], e["runid"], e["kind"], e["time"])) + (e["sequence"],)
            ok = said == (self.id, self.producer, self.run, self.kind, self.time, self.sequence) and (self.cls == b"conflict") == bool(self.finding)
        elif self.cls == b"manifest":
            ok = m and not (self.id + self.run + self.kind + self.time + self.finding) and (m["producer"].encode(), m["last"]) == (self.producer, self.sequence)
        else:
            ok = self.cls == b"quarantine" and self.finding and not (self.id + self.time) and not self.sequence
        need(ok, "leaf %d says something else than its record", self.index)
        need(self.cls == b"quarantine" or (e or m)["tenant"] == tenant, "leaf %d belongs to another tenant", self.index)

    def removable(self):
        return self.cls != b"manifest" and not (self.cls == b"event" and self.kind.decode("utf-8", "replace") in KEPT)


# Orders

def notes_of(rows):
    """The texts of all orders with their leaves."""
    accessed = [r for r in rows if r.cls == b"event" and r.kind == b"audit.accessed" and r.event]
    return [(r.index, r.event["data"]["order"].encode()) for r in accessed if isinstance(r.event["data"].get("order"), str)]


class Orders:
    """The orders that count so far, with the holds and rules in force."""

    def __init__(self, keys, tenant):
        self.keys, self.tenant, self.ids, self.holds, self.rows, self.floor, self.rule = keys, tenant, set(), [], [], 0, None

    def needs(self, o):
        """Whether an order needs a second person."""
        return self.rule and (o["action"] in self.rule["for"] + ["approvers"] or o["action"] == "floor" and o["floor"] < self.floor)

    def read(self, row, note):
        """Reads an order, which sets "effect" if it waits for its approval or came too late."""
        keys = self.keys.at(row.index)
        text, signatures = read_note(note)
        if len(signatures) == 1:
            o = read_order(open_note(note, keys))
            return o | {"effect": "proposed"} if self.needs(o) else o
        need(self.rule and len(signatures) == 2, "it has something besides one signature")
        o, pair = read_order(text), []
        for list_, (name, hash, signature) in zip((keys, self.rule["approvers"]), signatures):
            pair += [k for k in list_ if (k.name, k.hash) == (name, hash) and k.signed(text, signature)][:1]
        need(len(pair) == 2 and pair[0].raw != pair[1].raw and o["action"] != "key", "no approver has signed it")
        need(o["by"].strip().lower() != pair[1].name.lower(), "one person has given and approved it")
        late = row.stored > ns(o["time"]) + self.rule["within"]
        return o | {"approved": True} | ({"effect": "expired"} if late else {})

    def open(self, row):
        """Returns the order at a leaf if it counts, with "effect" unless it erases records."""
        note = dict(notes_of([row])).get(row.index)
        if not note:
            return None
        try:
            if read_order(read_note(note)[0])["action"] == "key":
                o = key_change(note)
                o["effect"] = self.keys.effect(row.index, o["old"])
                need(o["effect"], "the key was not in charge")
            else:
                o = self.read(row, note)
            need(o["tenant"] == self.tenant, "it is of another tenant")
            if "approved" in o:  # it takes the place of the proposed one
                proposed = [x for x in self.rows if x[1]["id"] == o["id"] and x[1]["effect"] == "proposed"]
                self.rows = [x for x in self.rows if x not in proposed]
                self.ids -= {x[1]["id"] for x in proposed}
            need(o["id"] not in self.ids, "it was given before")
        except (Bad, ValueError):
            return None
        self.ids.add(o["id"])
        self.rows.append((row.index, o))
        if "effect" not in o and not word(o):
            self.change(o)
        return o

    def change(self, o):
        o["effect"] = "done"
        if o["action"] == "hold":
            self.holds.append(o)
        elif o["action"] == "lift":
            o["effect"] = "done" if any(h["id"] == o["hold"] for h in self.holds) else "void"
            self.holds = [h for h in self.holds if h["id"] != o["hold"]]
        elif o["action"] == "floor":
            self.floor = o["floor"]
        elif o["action"] == "approvers":
            self.rule = o if o["approvers"] else None

    def protects(self, o, order, row):
        """Whether the retention floor protects a record from an order."""
        return o["action"] == "prune" and self.floor and (not row.stored or not order.stored or row.stored > order.stored - self.floor)


class Issuers:
    """The orders about issuers of grants."""

    def __init__(self, keys, tenant, notes):
        self.keys, self.tenant, self.orders = keys, tenant, []
        for leaf, note in notes:
            try:
                o = read_order(open_note(note, keys.at(leaf)))
            except (Bad, ValueError):
                continue
            if "issuer" in o and o["tenant"] == tenant:
                self.orders.append((leaf, o))

    def endorsed(self, grant, leaf):
        try:
            f = lines(open_note(grant.get("endorsed", "").encode(), self.keys.at(leaf)), b"hooktrail/issuer/v1\n", ["issuer", "tenant", "time"])
        except (Bad, ValueError):
            return False
        return f["issuer"].decode() == grant["issuer"] and f.get("tenant", b"").decode() in ("", self.tenant)

    def counts(self, m, r):
        """Whether the grant of a manifest shows whose key signed it."""
        grant = m.get("grant")
        if not grant or not m["signed"] or not m["granted"] or grant["key"] != m["key"]:
            return False
        if grant.get("producer", m["producer"]) != m["producer"] or grant.get("tenant", m["tenant"]) != m["tenant"]:
            return False
        if "expires" in grant and r.stored >= ns(grant["expires"]):
            return False
        known, revoked = self.endorsed(grant, r.index), False
        for leaf, o in self.orders:
            if o["issuer"] != grant["issuer"]:
                continue
            if leaf > r.index and revoked:
                break
            if o["action"] == "issuer":
                known, revoked = True, False
            elif leaf < r.index or "from" in o and r.stored >= ns(o["from"]):
                known, revoked = False, True
        return known


def fits(o, r):
    """Whether a leaf matches the selection of an order, except for the user."""
    ok = o.get("run", "").encode() in (b"", r.run) and (o.get("event", "").encode() in (b"", r.id) and ("event" not in o or r.cls == b"event"))
    ok = ok and ("kind" not in o or fnmatch.fnmatchcase(r.kind.decode("utf-8", "replace"), o["kind"]))
    return ok and ("from" not in o or r.time >= o["from"].encode()) and ("to" not in o or r.time and r.time < o["to"].encode())


def has(o, leaf):
    return any(first <= leaf <= last for first, last in o["ranges"])


def word(o):
    return {"erase": "erased", "prune": "pruned"}.get(o["action"])


# The ledger file

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


def check_checkpoints(db, arrivals, keys, origin, trusted):
    """Replays the arrivals and compares each checkpoint. Returns the newest one and the arrivals before which the stream broke off."""
    table = [(n, size, Checkpoint(note)) for n, size, note in db.execute("SELECT checkpoint, size, note FROM checkpoints ORDER BY 1")]
    need(table and table[0][2].arrivals == 0, "the first checkpoint is missing")
    before, breaks, tree, digest, at, hash, count = table[0][2], [], Tree(), bytes(32), (0, 0), bytes(32), 0
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
            if trusted and trusted.arrivals == count:
                trusted.compared = (tree.size, tree.root(), digest) == (trusted.size, trusted.root, trusted.digest)
        if trusted and trusted.arrivals == 0:
            trusted.compared = (trusted.size, trusted.root, trusted.digest) == (0, sha(b""), bytes(32))
        need((tree.size, tree.root(), digest) == (c.size, c.root, c.digest), "checkpoint %d: what it signs is not there", number)
        if (c.position, c.hash) != (at, hash):
            need(count and c.position > at, "checkpoint %d: its message is not the last one", number)
            breaks.append(count)
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


def verify_ledger(path, key, tenant, trusted, silence, report):
    db = open_ledger(path)
    try:
        first = db.execute("SELECT note FROM checkpoints ORDER BY checkpoint LIMIT 1").fetchone()
        need(first, "no checkpoint is there")
        origin = Checkpoint(first[0]).origin
        if tenant is None:
            tenant = re.sub(r"=([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), "" if origin == "=" else origin).encode("latin-1").decode()
        need(origin == token(tenant), "it is of another tenant")
        rows, arrivals = read_ledger(db, tenant)
        changes = notes_of(rows)
        keys = Keys(key, tenant, changes)
        newest, breaks = check_checkpoints(db, arrivals, keys, origin, trusted)
        check_orders(db, rows, Orders(keys, tenant))
    finally:
        db.close()
    as_of = newest.time
    if trusted:
        try:
            open_note(trusted.note, keys.at(trusted.size), only=False)
            report["diverged"] = not trusted.compared or trusted.origin != origin or trusted.arrivals == newest.arrivals and trusted.position > newest.position
        except Bad:
            report["diverged"] = True
        if not report["diverged"] and trusted.arrivals == newest.arrivals:
            as_of = max(as_of, trusted.time)
    report["counts"] = count(rows, arrivals)
    judge(report, arrivals, False, silence, as_of, Issuers(keys, tenant, changes), breaks)
    if report["completeness"] == "COMPLETE" and newest.size == 0:
        report["completeness"] = "EMPTY"


def count(rows, arrivals):
    return {"leaves": len(rows), "events": sum(r.cls == b"event" for r in rows), "manifests": sum(r.cls == b"manifest" for r in rows),
            "set_apart": sum(r.cls in (b"conflict", b"quarantine") for r in rows), "seen_again": len(arrivals) - len(rows)}


# Completeness

def choose(contents, root):
    """Picks one of the contents under each number so that their tree has this root, or returns None."""
    last = [[c[-1] for c in contents]]
    for tries, pick in enumerate(itertools.chain(last, itertools.product(*contents))):
        if root_of(c.hash for c in pick).hex() == root:
            return pick
        if tries * len(contents) > 1 << 21:
            return None
    return None


def numbers(m):
    missing = {n for r in m["missing"] for n in range(r["first"], r["last"] + 1)}
    return [n for n in range(m["first"], m["last"] + 1) if n not in missing]


class Producer:
    def __init__(self, name):
        self.name, self.contents, self.manifests = name, defaultdict(list), []
        self.gaps, self.lost_manifests, self.foreign, self.listed, self.key = [], [], {}, 0, None
        self.pulse, self.lost, self.enrolled, self.interval = ("", 0, None), False, False, 0

    def owner(self, issuers):
        """Returns the key that owns the chain, the place of its first manifest, and whether nothing is before it."""
        valid = [i for i, (m, _) in enumerate(self.manifests) if m["signed"]]
        granted = [i for i in valid if issuers.counts(*self.manifests[i])]
        if not valid:
            return None, len(self.manifests), False
        key = self.manifests[(granted or valid)[0]][0]["key"]
        begins = [self.manifests[i][0] for i in (valid[0], (granted or valid)[0]) if self.manifests[i][0]["key"] == key]
        start = next(i for i in valid if self.manifests[i][0]["key"] == key)
        return key, start, (begins[0]["first"], begins[0]["prev"]) == (1, "")

    def chain(self, issuers):
        """Returns the manifests of the producer that continue its chain. Others are foreign, or a gap."""
        self.key, start, begins = self.owner(issuers)
        tip, links, taken, key, old = ("", 0), {("", 0)}, [], self.key, None
        self.unsigned_last, self.own = 0, 0
        for i, (m, r) in enumerate(self.manifests):
            signing, empty = i >= start, m["first"] > m["last"]
            if m["signed"] and m["next"] and m["next"] == key and m["key"] == old and empty:
                continue  # the change of the key, once more
            if m["signed"] is False or m["signed"] is None and (signing or begins) or m["signed"] and m["key"] != key:
                self.foreign[id(r)] = r
                continue
            if i == start:
                self.unsigned_last = self.listed
            self.own, self.last = self.own + 1, r
            self.enrolled = self.enrolled or issuers.counts(m, r)
            at, resent = (m["prev"], m["first"] - 1), m["first"] <= self.listed
            if resent and (not signing or at not in links):
                self.gaps.append("%s: listed twice %d-%d" % (self.name, m["first"], m["last"]))
                continue
            if not resent and at != tip:
                first = self.listed + 1 if self.listed + 1 < m["first"] else max(1, self.listed)
                self.lost_manifests.append((first, max(first, m["first"] - 1)))
            self.pulse = (m["state"] if m["signed"] else "", m["interval"] * 10**9, r)
            if m["signed"] and m["interval"]:
                self.interval = m["interval"] * 10**9
            tip = (r.hash.hex(), m["last"])
            links |= {at, tip}
            self.listed = max(self.listed, m["last"])
            if m["signed"] and m["next"]:
                key, old = m["next"], m["key"]
            taken.append(m)
        return taken

    def silent(self, now):
        """Whether the producer said that it is open, and was not heard of in three intervals."""
        state, interval, r = self.pulse
        return state == "open" and not self.lost and now - r.stored > 3 * interval

    def settled(self, seal):
        """Whether a seal of another producer at a place can end its run: no event before it can be missing."""
        state, _, r = self.pulse
        if self.lost or not state:
            return True
        return max(self.received, default=0) <= self.listed if state == "closed" else seal < r.at

    def settle(self, partial, issuers):
        """Finds the producer's own content under each number. Returns it by number."""
        own = {}
        for m in self.chain(issuers):
            wanted = numbers(m)
            for r in m["missing"]:
                held = [c for n in range(r["first"], r["last"] + 1) if n in self.contents for c in self.contents[n]]
                if held and m["signed"]:
                    self.foreign |= {id(c): c for c in held}
                elif held:
                    self.gaps.append("%s: listed as missing %d-%d" % (self.name, r["first"], r["last"]))
            if not all(n in self.contents for n in wanted):
                continue
            contents = [self.contents[n] for n in wanted] if m["signed"] else [self.contents[n][:1] for n in wanted]
            pick = choose(contents, m["root"])
            if pick is None:
                self.gaps.append("%s: altered %d-%d" % (self.name, m["first"], m["last"]))
                continue
            own |= dict(zip(wanted, pick))
            if m["signed"]:
                self.foreign |= {id(c): c for cs, p in zip(contents, pick) for c in cs
                                 if c.hash != p.hash and c.sequence > self.unsigned_last}
        received = {n: next((c for c in cs if id(c) not in self.foreign), None) for n, cs in self.contents.items()}
        received = {n: own.get(n) or c for n, c in received.items() if c}
        if self.key and received and not partial:
            end = self.listed
            while end + 1 in received:
                end += 1
            for n in [n for n in received if n > end]:
                self.foreign |= {id(c): c for c in self.contents[n]}
                del received[n]
        return received


def tally(events, last):
    """What a seal says of the events of a producer in a run up to a number."""
    digest, of = bytes(32), sorted((n, c.hash) for n, c in events.items() if n <= last and c.kind != b"run.sealed")
    for _, hash in of:
        digest = sha(digest + hash)
    return (len(of), of[0][0], of[-1][0], digest.hex()) if of else (0, 0, 0, digest.hex())


def lifecycle(c):
    kind = c.kind.decode("utf-8", "replace")
    return c.cls and kind and kind not in SERVICE | {"custom", "blob.chunk"}


def find_lost(producers):
    """Applies the events producer.lost. Returns whether one of them names a producer without a record."""
    lost = {}
    for p in producers:
        for c in p.received.values():
            if c.cls and c.event and c.kind == b"producer.lost" and isinstance(c.event["data"].get("producer"), str) and c.event["data"]["producer"]:
                name = c.event["data"]["producer"].encode()
                lost[name] = max(lost.get(name, (0, 0)), c.at)
    for p in producers:
        at = lost.pop(p.name.encode("utf-8", "replace"), None)
        p.lost = at is not None and not (p.pulse[2] and at < p.pulse[2].at)
    return bool(lost)


def judge(report, arrivals, partial, silence, now, issuers, breaks=(), skip=frozenset()):
    silent = now - silence
    producers, denials, findings = {}, {}, []
    first = {r.id: r for r in arrivals if r.cls == b"event"}
    for i, r in enumerate(arrivals):
        r.number = i
        note_denial(r, denials, findings)
        twice = r.finding == b"id-reused" and r.id in first and same_recording(first[r.id], r)
        if r.cls == b"conflict" and not twice or r.finding == b"misaddressed":
            findings.append("leaf %d: %s" % (r.index, r.finding.decode()))
        if r.cls == b"quarantine" or r.index in skip and r.cls:
            continue
        p = producers.setdefault(r.producer, Producer(r.producer.decode("utf-8", "replace")))
        if r.cls == b"manifest":
            p.manifests.append((r.manifest, r))
        elif not any(c.hash == r.hash for c in p.contents[r.sequence]):
            p.contents[r.sequence].append(r)
    gaps, unproven, foreign, parts = [], False, 0, defaultdict(dict)
    for p in producers.values():
        p.received = received = p.settle(partial, issuers)
        foreign += len(p.foreign)
        gaps += p.gaps
        highest = max(received, default=0)
        if not partial:
            gaps += ["%s: manifest of %d-%d missing" % (p.name, a, b) for a, b in p.lost_manifests if any(a <= n <= b for n in received)]
            lost = next((n for n in range(1, max(p.listed, highest) + 1) if n not in received), None)
            if lost:
                gaps.append("%s: missing from %d on" % (p.name, lost))
        tail = received and highest > p.listed
        in_flight = tail and p.own and max(c.stored for c in received.values()) > silent
        if tail and p.own and p.interval:
            oldest = min(c.stored for n, c in received.items() if n > p.listed)
            in_flight = now - oldest <= min(3 * p.interval, silence)
        heard = max([c.number for c in received.values()] + ([p.last.number] if p.own else []), default=None)
        unproven = unproven or tail and not in_flight or bool(breaks) and heard is not None and heard < breaks[-1]
        for n, c in received.items():
            if c.run:
                parts[c.run, p.name][n] = c
        p.sent = max(p.listed, highest)
    unproven = find_lost(list(producers.values())) or unproven or any(p.lost or p.silent(now) for p in producers.values())
    report["not_enrolled"] = [p.name for p in producers.values() if not p.enrolled]
    by_name = {p.name: p for p in producers.values()}
    runs = defaultdict(list)
    for (run, name), events in parts.items():
        runs[run].append(seal_of(run, by_name[name], events, partial, gaps))
    states = [state(list_, silent) for list_ in runs.values()]
    report["gaps"], report["foreign"], report["findings"] = gaps, foreign, findings
    report["counts"] |= {"sealed": states.count("sealed"), "open": states.count("open"), "unsealed": states.count("unsealed")}
    report["completeness"] = "GAPS" if gaps else "UNSEALED" if "unsealed" in states else "UNPROVEN" if unproven else "COMPLETE"


def recording(r):
    """What two recordings of one hook payload have in common, or None."""
    e, strict = r.event, ["ask", "deny"]
    if not e or e["kind"] in ("custom", "hook.executed") or not isinstance(e["pairs"], tuple):
        return None
    d, verdict = e["data"], e["data"].get("verdict") or ""
    executions = [members(x).get("verdict") or "" for x in d.get("executions") or []]
    if len({n.lower() for n, _ in e["pairs"]}) < len(e["pairs"]) or not all(isinstance(v, str) for v in executions + [verdict]):
        return None
    stricter = max((v for v in executions if v in strict and verdict not in strict[strict.index(v):]), key=strict.index, default="")
    rest = [(n, v) for n, v in e["pairs"] if n != "executions" and not (n == "verdict" and v == "none")]
    return e["type"], e["runid"], e["toolcall"], stricter, rest, e["base64"]


def same_recording(a, b):
    """Whether two records under one id are of one hook payload, which hooks got twice."""
    if any(r.removed and r.removed[0] == "pruned" for r in (a, b)):
        return (a.run, a.kind) == (b.run, b.kind) and a.kind not in (b"", b"custom", b"hook.executed")
    return recording(a) is not None and recording(a) == recording(b)


def note_denial(r, denials, findings):
    e = r.event
    if not e or not e["toolcall"]:
        return
    call = (e["runid"], e["toolcall"])
    if e["kind"] in ("tool.before", "approval") and e["data"].get("verdict") == "deny":
        denials.setdefault(call, r.index)
    elif e["kind"] == "tool.result" and e["data"].get("status") == "success" and call in denials and r.cls != b"quarantine":
        findings.append("leaf %d: the result of the call that was denied at leaf %d" % (r.index, denials[call]))


def seal_of(run, p, events, partial, gaps):
    """Returns (producer, alive, pending, has a seal, place of the last event that goes on, place of the seal, when last stored)."""
    seal, at = None, None
    for n, c in sorted(events.items(), key=lambda x: x[1].number):
        if c.cls and c.kind == b"run.sealed" and c.event and (not at or n > at[0]):
            d = c.event["data"]
            said = tuple(d.get(k, 0) for k in ("count", "first", "last", "digest"))
            tenant = c.event["tenant"]
            mine = c.event["id"] == derived("seal", tenant, c.event["producer"], c.event["runid"], str(said[0]), str(said[3]))
            if all(type(x) is int for x in said[:3]) and (mine or tally(events, said[2]) == said):
                seal, at = said, (n, c.at)
    if seal and tally(events, seal[2]) != seal:
        known = range(max(1, seal[1]), min(seal[2], p.sent) + 1)
        if partial or all(n in p.received for n in known):
            gaps.append("%s: not what the seal of run %s counts" % (p.name, run.decode("utf-8", "replace")))
    going = {n: c for n, c in events.items() if lifecycle(c)}
    pending = bool(going) and (not seal or max(going) > seal[2])
    return (p, bool(going), pending, bool(seal), max((c.at for c in going.values()), default=(0, 0)), at[1] if at else (0, 0), max((c.stored for c in going.values()), default=0))


def state(parts, silent):
    """The state of a run. A later seal of another producer ends the events before it."""
    def ended(p):
        return any(o is not p and o[3] and p[4] < o[5] and p[0].settled(o[5]) for o in parts)
    if all(ended(p) for p in parts if p[2]):
        return "sealed" if any(p[1] or p[3] for p in parts) else None
    return "open" if max(p[6] for p in parts) > silent else "unsealed"


# Bundles

FILES = ["bundle.json", "checkpoint.txt", "ledger.pub", "witnessed.txt", "leaves.jsonl", "records.jsonl", "again.jsonl", "tree.txt", "index.html", "selection.txt", "SHA256SUMS"]


def read_bundle(path):
    try:
        with zipfile.ZipFile(path) as z:
            found, files = [i.filename for i in z.infolist()], {i.filename: z.read(i) for i in z.infolist()}
    except (zipfile.BadZipFile, NotImplementedError) as e:
        raise Bad(str(e))
    names = FILES if "selection.txt" in found else [f for f in FILES if f != "selection.txt"]
    need(sorted(found) == sorted(names), "the bundle has other files")
    need(files["SHA256SUMS"] == b"".join(b"%s  %s\n" % (sha(files[f]).hex().encode(), f.encode()) for f in names[:-1]), "SHA256SUMS is wrong")
    return files


def split(data, name):
    need(not data or data.endswith(b"\n"), "%s: a line without an end", name)
    return data.split(b"\n")[:-1]


def json_line(line, names):
    value = members(parse(line))
    need(value and set(value) <= set(names), "a line with an unknown member")
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
        row.node = sha(b"\0" + text)
        need(row.index > (rows[-1].index if rows else -1), "leaf %d is out of order", row.index)
        rows.append(row)
        data = record_of(record)
        if j.get("removed"):
            row.removed = (j["removed"], j.get("order", 0))
            need(data is None and row.removed[1] > row.index and row.removed[0] in ("erased", "pruned") and row.removable(), "leaf %d: what became of its record makes no sense", row.index)
        else:
            need(data is not None, "leaf %d: its record is missing", row.index)
            row.decode(data, tenant)
    again = []
    for line in split(files["again.jsonl"], "again.jsonl"):
        j = json_line(line, ["leaf", "run", "kind", "producer", "sequence", "sha256", "epoch", "stream", "stored"])
        again.append(Row(index=j["leaf"], producer=j["producer"].encode(), sequence=j["sequence"], hash=bytes.fromhex(j["sha256"]), run=j.get("run", "").encode(),
                         kind=j.get("kind", "").encode(), at=(j["epoch"], j["stream"]), stored=ns(j["stored"]) if "stored" in j else 0))
    arrivals, rest = [], list(again)
    for row in rows:
        while rest and rest[0].at < row.at:
            arrivals.append(rest.pop(0))
        arrivals.append(row)
    return rows, arrivals + rest


def bundle_tree(files, rows, size, trusted):
    tree, rest = Tree(), split(files["tree.txt"], "tree.txt")
    for row in rows + [None]:
        end = row.index if row else size
        while True:
            if trusted and trusted.size == tree.size:
                trusted.compared = tree.root() == trusted.root
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
    f = {n: v.decode() for n, v in lines(open_note(files["selection.txt"], keys.at(c.size)), b"hooktrail/selection/v1\n", SELECTION).items()}
    hashes = {n: sha(files[x]).hex() for n, x in (("checkpoint", "checkpoint.txt"), ("bundle", "bundle.json"), ("page", "index.html"))}
    want = hashes | {"origin": "hooktrail/" + c.origin, "tree": "%d %s" % (c.size, base64.b64encode(c.root).decode())}
    for name in ("leaves", "again"):
        data = files[name + ".jsonl"]
        want[name] = "%d %s" % (data.count(b"\n"), sha(data).hex())
    for name in ("run", "from", "to"):
        if about.get(name):
            want[name] = event_time(about[name]) if name != "run" else about[name]
    need(f == want, "selection.txt: the bundle is not what was signed")
    return True


def bundle_orders(rows, keys, tenant):
    """Checks that orders in the bundle concern the erased records. Returns the leaves of orders that are not of the selection."""
    claims, orders, extra = defaultdict(list), Orders(keys, tenant), set()
    for r in rows:
        if r.index in claims or r.index in keys.since:
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
    time = r.time.decode()
    bounds = [event_time(about[n]) if about.get(n) else "" for n in ("from", "to")]
    return about.get("run", "").encode() in (b"", r.run) and (not bounds[0] or time >= bounds[0]) and (not bounds[1] or time and time < bounds[1])


def verify_bundle(path, key, tenant, trusted, silence, report):
    files = read_bundle(path)
    about, c = json.loads(files["bundle.json"]), Checkpoint(files["checkpoint.txt"])
    need(about["format"] == ("hooktrail/bundle/v2" if "selection.txt" in files else "hooktrail/bundle/v1"), "another format")
    need(token(about["tenant"]) == c.origin and about["size"] == c.size and tenant in (None, about["tenant"]), "bundle.json is about another ledger")
    own, tenant = Key(files["ledger.pub"].decode()), about["tenant"]
    whole, run = not any(about.get(n) for n in ("run", "from", "to")), about.get("run") and not about.get("from") and not about.get("to")
    rows, arrivals = bundle_leaves(files, tenant)
    notes = notes_of(rows)
    keys = Keys(key or own, tenant, notes)
    issuers = Issuers(keys, tenant, notes)
    open_note(c.note, keys.at(c.size), only=False)
    attested = check_selection(files, about, c, keys)
    need(len(rows) == about["leaves"] and (not rows or rows[-1].index < c.size), "bundle.json counts other leaves")
    need(bundle_tree(files, rows, c.size, trusted) == c.root, "the root of the leaves and the tree differs from the signed one")
    extra = bundle_orders(rows, keys, tenant) | {leaf for leaf, _ in issuers.orders}
    need(all(r.index in extra or run and r.cls == b"manifest" or selected(about, r) for r in rows), "a leaf is not of what was selected")
    seals = {}
    for r in rows:
        if run and r.cls == b"event" and r.kind == b"run.sealed" and r.run == about["run"].encode() and r.sequence >= seals.get(r.producer, r).sequence:
            seals[r.producer] = r
    said = [{"producer": p.decode(), "sequence": r.sequence, "sha256": r.hash.hex()} for p, r in sorted(seals.items())]
    need(about["format"].endswith("v1") or said == (about.get("seals") or []), "bundle.json names other seals")
    if whole:
        digest = bytes(32)
        for r in arrivals:
            digest = digest_of(digest, r)
        need((len(rows), len(arrivals), digest) == (c.size, c.arrivals, c.digest), "records are missing, or came from elsewhere")
    report["counts"] = count(rows, arrivals)
    report["anchor"] = "GIVEN" if key else "NONE"
    if trusted:
        try:
            open_note(trusted.note, keys.at(trusted.size), only=False)
        except Bad:
            trusted.compared = False
        if trusted.compared is None:
            raise Incomparable("the trusted checkpoint cannot be compared with this bundle")
        report["diverged"] = not trusted.compared or trusted.origin != c.origin
        if not report["diverged"]:
            report["anchor"] = "GIVEN"
    judge(report, arrivals, not whole, silence, c.time, issuers, skip=extra if not whole else frozenset())
    if not whole and not run:
        report["completeness"], report["foreign"] = "UNPROVEN", 0
        report["counts"] |= {"sealed": 0, "open": 0, "unsealed": 0}  # the range cuts runs
        return
    if run and about.get("gaps"):
        report["completeness"] = "GAPS"
    if report["completeness"] == "COMPLETE":
        if whole and c.size == 0:
            report["completeness"] = "EMPTY"
        if not attested or about.get("unheard") or run and not report["counts"]["sealed"]:
            report["completeness"] = "UNPROVEN"


# The verdict

def verify(path, key=None, tenant=None, trusted=None, require_trusted=False, silence=SILENCE, require_enrolled=False):
    report = {"integrity": "VERIFIED", "completeness": "UNPROVEN", "problem": None, "anchor": "GIVEN", "diverged": False, "foreign": 0, "gaps": [], "findings": [], "not_enrolled": [], "counts": {}}
    if trusted is not None:
        trusted = Checkpoint(trusted.rstrip(b" \t\r\n") + b"\n")
        trusted.compared = None
    key = Key(key) if key else None
    with open(path, "rb") as f:
        head = f.read(4)
    try:
        if head[:2] == b"PK":
            verify_bundle(path, key, tenant, trusted, silence, report)
        else:
            verify_ledger(path, key, tenant, trusted, silence, report)
    except (Bad, sqlite3.DatabaseError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError, ValueError) as e:
        report["integrity"], report["problem"] = "INVALID", "%s: %s" % (type(e).__name__, e)
    status = {11: report["completeness"] != "COMPLETE" or report["foreign"] or require_enrolled and report["not_enrolled"], 12: report["findings"], 20: require_trusted and trusted is None,
              21: report["anchor"] == "NONE", 30: report["diverged"], 40: report["integrity"] == "INVALID"}
    report["exit"] = max([0] + [s for s, applies in status.items() if applies])
    return report


def serve():
    for line in sys.stdin:
        q = json.loads(line)
        try:
            answer = verify(q["path"], q.get("key"), q.get("tenant"), q["trusted"].encode() if q.get("trusted") else None, False, q.get("silence") or SILENCE, q.get("require_enrolled", False))
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, e)}
        print(json.dumps(answer), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="?"), p.add_argument("--key"), p.add_argument("--tenant"), p.add_argument("--trusted")
    p.add_argument("--require-trusted", action="store_true"), p.add_argument("--require-enrolled", action="store_true"), p.add_argument("--serve", action="store_true")
    a = p.parse_args()
    if a.serve:
        return serve()
    key = open(a.key).read() if a.key and os.path.exists(a.key) else a.key
    report = verify(a.file, key, a.tenant, open(a.trusted, "rb").read() if a.trusted else None, a.require_trusted, require_enrolled=a.require_enrolled)
    print(json.dumps(report, indent=2))
    sys.exit(report["exit"])


if __name__ == "__main__":
    main()
