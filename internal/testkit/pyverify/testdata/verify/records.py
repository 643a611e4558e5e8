"""Events, manifests, and leaves with their records."""
import base64, binascii, datetime, json, re, struct
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from notes import Bad, escape, need, sha


KEPT = {"audit.accessed", "run.sealed", "gap.recorded", "producer.lost"}  # no order destroys events of these kinds

LEAF = ["class", "id", "producer", "sequence", "run", "kind", "time", "sha256", "finding"]


def leaf_text(r):
    values = [r.cls, r.id, r.producer, b"%d" % r.sequence if r.sequence else b"", r.run, r.kind, r.time, r.hash.hex().encode(), r.finding]
    return b"hooktrail/leaf/v1\n" + b"".join(n.encode() + b" " + escape(v) + b"\n" for n, v in zip(LEAF, values) if v)


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
