package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxPart is the length of the longest escaped id that is not shortened: two of
// them, the separators and a suffix of SQLite's fit into a name of 255 bytes.
const maxPart = 112

// FileName returns the name of an agent's AgentFS file: both ids escaped, two
// underscores between them, and ".db".
//
//	claude-code, default       claude-code__default.db
//	team/coder, acme.com       team_x2Fcoder__acme_x2Ecom.db
//
// Letters, digits, "-" and "_" stand for themselves. Every other byte is "_x"
// and two hex digits, and so is an underscore at an end of the id, before an
// "x", or before anything but a letter, digit or "-": no two pairs of ids share
// a name. An id whose escaped form is longer than 112 bytes keeps the first 77
// of them, followed by "_xx" and 32 hex digits of its SHA-256; the empty id is
// "_xx".
func FileName(agent, tenant string) string {
	return escapeID(agent) + "__" + escapeID(tenant) + ".db"
}

// volumeName returns the name of the file that follows volume-1 others of the
// same agent and tenant.
func volumeName(agent, tenant string, volume int) string {
	name := FileName(agent, tenant)
	if volume <= 1 {
		return name
	}
	return strings.TrimSuffix(name, ".db") + "__" + strconv.Itoa(volume) + ".db"
}

func escapeID(id string) string {
	if id == "" {
		return "_xx"
	}
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if isPlain(c) || c == '_' && isInner(id, i) {
			b.WriteByte(c)
			continue
		}
		b.WriteString("_x")
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	escaped := b.String()
	if len(escaped) <= maxPart {
		return escaped
	}
	sum := sha256.Sum256([]byte(id))
	return strings.TrimRight(escaped[:77], "_") + "_xx" + hex.EncodeToString(sum[:16])
}

// isInner reports whether the underscore at id[i] can stand for itself: it
// neither starts an escape nor makes a separator.
func isInner(id string, i int) bool {
	return i > 0 && i+1 < len(id) && id[i+1] != 'x' && isPlain(id[i+1])
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
