package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
)

// maxPart is the maximum length of an escaped id in bytes, so that a file name of 255 bytes has
// room for two ids.
const maxPart = 112

// FileName returns the name of an agent's first AgentFS file. AgentFS tools open the file by the
// name without ".db".
//
//	claude-code, default       claude-code__default.db
//	team/coder, acme.com       team_x2Fcoder__acme_x2Ecom.db
//	Explore, default           Explore_xu1__default.db
//
// Letters, digits, "-" and "_" stay. Every other byte becomes "_x" and two hex digits. An
// underscore also becomes "_x5F" at the start and end of the id, before "x" or "X", and before any
// byte that is not a letter, digit or "-".
//
// An id with capital letters ends in "_xu" and a hex number, in which bit n is set if byte n is a
// capital letter. No two pairs of ids therefore share a name, even on disks that ignore case.
//
// If the escaped id is longer than 112 bytes, its first 77 bytes stay, followed by "_xx" and 32 hex
// digits of the id's SHA-256. The empty id is "_xx".
func FileName(agent, tenant string) string {
	return partName(baseName(agent, tenant), 1)
}

func baseName(agent, tenant string) string { return escapeID(agent) + separator + escapeID(tenant) }

// separator never occurs in an escaped id, so file names can be split at it.
const separator = "__"

func partName(base string, part int) string {
	if part > 1 {
		base += separator + strconv.Itoa(part)
	}
	return base + ".db"
}

type fileName struct {
	base          string // the same for all files of the agent and tenant
	agent, tenant string // escaped
	part          int    // number of the file, from 1; 0 for other names
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

const (
	shortened    = "_xx"
	withCapitals = "_xu"
)

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
			break // the id was cut within an escape
		}
		b.WriteByte(c[0])
		escaped = rest[2:]
	}
	if long && b.Len() > 0 {
		b.WriteString("…")
	}
	return b.String()
}

func isInner(id string, i int) bool {
	return i > 0 && i+1 < len(id) && id[i+1]|0x20 != 'x' && isPlain(id[i+1])
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

var keyEscaper = strings.NewReplacer("%", "%25", ":", "%3A")

func keyPart(id string) string { return keyEscaper.Replace(text(id)) }

// text replaces invalid UTF-8 and NUL bytes, which SQLite and the AgentFS clients refuse.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
