"""Signed notes, verifier keys, checkpoints, texts of lines, and the tree."""
import base64, calendar, datetime, hashlib, re
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Incomparable(Exception):
    """The evidence does not show whether it agrees with a trusted checkpoint."""


class Bad(Exception):
    """The evidence is not as it was signed."""


def need(ok, text, *args):
    if not ok:
        raise Bad(text % args)


def sha(data):
    return hashlib.sha256(data).digest()


class Key:
    TYPE = 1  # Ed25519

    def __init__(self, text):
        self.text = text.strip()
        need(self.text.count("+") > 1, "not a verifier key")
        name, number, public = self.text.split("+", 2)
        raw = base64.b64decode(public, validate=True)
        need(len(raw) == 33 and raw[0] == self.TYPE, "not an Ed25519 verifier key")
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
        self.time, self.signed = ns(m[5]), m[5]
        self.position, self.hash = (int(m[8]), int(m[10])), bytes.fromhex(m[11])


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
