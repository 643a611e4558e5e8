package bundle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/statement"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// statementHeader differs from the first line of checkpoints and orders, so that a signature of one
// is never valid for another.
const statementHeader = "hooktrail/selection/v1\n"

// Statement describes the contents of a bundle. The ledger's key signs it, because the tree does
// not prove that the bundle has all selected records. Its text is:
//
//	hooktrail/selection/v1
//	origin hooktrail/acme
//	tree 91204 CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	run r-42
//	from 2026-11-20T09:00:00.000000000Z
//	to 2026-11-20T10:00:00.000000000Z
//	times stored
//	leaves 35 2cf24dba…
//	again 0 e3b0c442…
//	checkpoint 5feceb66…
//	bundle 6b86b273…
//	page d4735e3a…
//
// The lines run, from and to are optional. Without the line times, from and to are the times in the
// events, not of storage. leaves and again have the number of lines and the SHA-256 of the files
// leaves.jsonl and again.jsonl. The last three lines have the SHA-256 of checkpoint.txt,
// bundle.json and index.html.
type Statement struct {
	Origin   string
	Size     int64
	Root     tlog.Hash
	Run      string
	From, To time.Time
	Times    string // empty or "stored"

	Leaves, Again            counted
	Checkpoint, Bundle, Page events.Hash
}

type counted struct {
	Lines int64
	Hash  events.Hash
}

func (c counted) String() string { return fmt.Sprintf("%d %s", c.Lines, c.Hash) }

// Text returns the text of the statement without a signature.
func (s Statement) Text() string {
	b := []byte(statementHeader)
	for _, f := range [...]struct{ name, value string }{
		{"origin", s.Origin},
		{"tree", fmt.Sprintf("%d %s", s.Size, s.Root)},
		{"run", s.Run},
		{"from", ledger.FormatTime(s.From)},
		{"to", ledger.FormatTime(s.To)},
		{"times", s.Times},
		{"leaves", s.Leaves.String()},
		{"again", s.Again.String()},
		{"checkpoint", s.Checkpoint.String()},
		{"bundle", s.Bundle.String()},
		{"page", s.Page.String()},
	} {
		b = ledger.AppendField(b, f.name, f.value)
	}
	return string(b)
}

var errStatement = errors.New("it is not a statement about a selection")

// ParseStatement parses the output of [Statement.Text]. Any other text is an error.
func ParseStatement(text string) (Statement, error) {
	var s Statement
	rest, ok := strings.CutPrefix(text, statementHeader)
	if !ok {
		return s, errStatement
	}
	if err := statement.EachField(rest, s.set); err != nil {
		return Statement{}, fmt.Errorf("%w: %w", errStatement, err)
	}
	// Compare with the encoded statement, to reject reordered fields, repeated fields and needless
	// escapes.
	if s.Text() != text {
		return Statement{}, fmt.Errorf("%w: not in canonical form", errStatement)
	}
	return s, nil
}

func (s *Statement) set(name, value string) error {
	text := func(value string) (string, error) { return value, nil }
	moment := func(value string) (time.Time, error) { return time.Parse(time.RFC3339Nano, value) }
	parse := map[string]func(string) error{
		"origin": into(&s.Origin, text), "run": into(&s.Run, text), "times": into(&s.Times, text), "tree": s.setTree,
		"from": into(&s.From, moment), "to": into(&s.To, moment),
		"leaves": into(&s.Leaves, parseCounted), "again": into(&s.Again, parseCounted),
		"checkpoint": into(&s.Checkpoint, events.ParseHash), "bundle": into(&s.Bundle, events.ParseHash),
		"page": into(&s.Page, events.ParseHash),
	}[name]
	if parse == nil {
		return errStatement
	}
	return parse(value)
}

func into[T any](field *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*field, err = parse(value)
		return err
	}
}

func (s *Statement) setTree(value string) (err error) {
	size, root, _ := strings.Cut(value, " ")
	if s.Size, err = strconv.ParseInt(size, 10, 64); err == nil {
		s.Root, err = tlog.ParseHash(root)
	}
	return err
}

func parseCounted(value string) (c counted, err error) {
	lines, hash, _ := strings.Cut(value, " ")
	if c.Lines, err = strconv.ParseInt(lines, 10, 64); err == nil {
		c.Hash, err = events.ParseHash(hash)
	}
	return c, err
}

func openStatement(signed []byte, keys note.Verifiers) (Statement, error) {
	text, err := statement.Open(signed, keys)
	if err != nil {
		return Statement{}, err
	}
	return ParseStatement(text)
}
