package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
)

// maxPart is the length of the longest escaped id that is not shortened: two of
// them, the separators and a suffix of SQLite's fit into a name of 255 bytes.
const maxPart = 112

// FileName returns the name of an agent's AgentFS file: both ids escaped, two
// underscores between them, and ".db". Without the ".db" it is the id by which
// AgentFS tools open it.
//
//	claude-code, default       claude-code__default.db
//	team/coder, acme.com       team_x2Fcoder__acme_x2Ecom.db
//	Explore, default           Explore_xu1__default.db
//
// Letters, digits, "-" and "_" stand for themselves. Every other byte is "_x"
// and two hex digits, and so is an underscore at an end of the id, before an
// "x" or "X", or before anything but a letter, digit or "-". An id with capital letters
// ends in "_xu" and a number in hex whose bits say where they are, the first
// letter's being the lowest: no two pairs of ids share a name, on disks that take
// capital letters for small ones neither. An id whose escaped form is longer than
// 112 bytes keeps the first 77 of them, followed by "_xx" and 32 hex digits of its
// SHA-256; the empty id is "_xx".
func FileName(agent, tenant string) string {
	return partName(baseName(agent, tenant), 1)
}

func baseName(agent, tenant string) string { return escapeID(agent) + separator + escapeID(tenant) }

// separator stands between the parts of a name; no escaped id has it.
const separator = "__"

// partName returns the name of the part-th file of an agent and tenant, from 1.
func partName(base string, part int) string {
	if part > 1 {
		base += separator + strconv.Itoa(part)
	}
	return base + ".db"
}

// fileName is what the name of a file says.
type fileName struct {
	base          string // of all parts
	agent, tenant string // escaped
	part          int    // from 1; 0 for what is no name of ours
}

func parseName(name string) fileName {
	id, ok := strings.CutSuffix(name, ".db")
	agent, rest, found := strings.Cut(id, separator)
	tenant, number, numbered := strings.Cut(rest, separator)
	n := fileName{agent: agent, tenant: tenant, base: agent + separator + tenant, part: 1}
	if numbered {
		var err error
		if n.part, err = strconv.Atoi(number); err != nil || n.part < 2 || strconv.Itoa(n.part) != number {
			return fileName{}
		}
	}
	if !ok || !found || agent == "" || tenant == "" || strings.HasPrefix(name, ".") {
		return fileName{}
	}
	return n
}

func escapeID(id string) string {
	if id == "" {
		return shortened
	}
	var b strings.Builder
	var capitals big.Int
	for i := range len(id) {
		c := id[i]
		if 'A' <= c && c <= 'Z' {
			capitals.SetBit(&capitals, i, 1)
		}
		if isPlain(c) || c == '_' && isInner(id, i) {
			b.WriteByte(c)
			continue
		}
		b.WriteString("_x")
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	if capitals.Sign() > 0 {
		b.WriteString(withCapitals + capitals.Text(16))
	}
	escaped := b.String()
	if len(escaped) <= maxPart {
		return escaped
	}
	sum := sha256.Sum256([]byte(id))
	return strings.TrimRight(escaped[:77], "_") + shortened + hex.EncodeToString(sum[:16])
}

// What an escaped id has that is no byte of it.
const (
	shortened    = "_xx"
	withCapitals = "_xu"
)

// unescapeID returns the id that was escaped, or what the name has of it where
// it was shortened.
func unescapeID(escaped string) string {
	escaped, _, long := strings.Cut(escaped, shortened)
	escaped, _, _ = strings.Cut(escaped, withCapitals)
	var b strings.Builder
	for escaped != "" {
		plain, rest, ok := strings.Cut(escaped, "_x")
		b.WriteString(plain)
		if !ok {
			break
		}
		c, err := hex.DecodeString(rest[:min(2, len(rest))])
		if err != nil || len(c) != 1 {
			break // cut in two
		}
		b.WriteByte(c[0])
		escaped = rest[2:]
	}
	if long && b.Len() > 0 {
		b.WriteString("…")
	}
	return b.String()
}

// isInner reports whether the underscore at id[i] can stand for itself: it
// neither starts an escape nor makes a separator.
func isInner(id string, i int) bool {
	return i > 0 && i+1 < len(id) && id[i+1]|0x20 != 'x' && isPlain(id[i+1])
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

var keyEscaper = strings.NewReplacer("%", "%25", ":", "%3A")

// keyPart escapes an id as one part of a key: ":" separates the parts.
func keyPart(id string) string { return keyEscaper.Replace(text(id)) }

// text returns s as SQLite and the clients take it: valid UTF-8 without NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
