package daily

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/statement"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	statementHeader   = Format + "\n"
	allowAcknowledged = "acknowledged"
)

// AllowsAcknowledged reports whether the exit status in s ignores findings that a person has
// acknowledged.
func (s Statement) AllowsAcknowledged() bool { return s.Allow == allowAcknowledged }

// Statement is a text about a report, signed with the ledger's key. Its format is:
//
//	hooktrail/report/v1
//	origin hooktrail/acme
//	tree 91204 CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	checkpoint 413 5feceb66…
//	from 2026-11-19T00:00:00.000000000Z
//	to 2026-11-20T00:00:00.000000000Z
//	silence 30m0s
//	integrity VERIFIED
//	completeness COMPLETE
//	allow acknowledged
//	exit 0
//	witnessed 91000 2
//	lasting 6b86b273…
//	json d4735e3a…
//
//	the text for people
//
// The line allow is present only if exit leaves out acknowledged findings. checkpoint has the
// number and the SHA-256 of the signed checkpoint. witnessed has the leaves and cosignatures of the
// newest cosigned checkpoint. lasting is the SHA-256 of the facts that do not change when the
// ledger grows, and json of the report as JSON.
type Statement struct {
	Origin       string
	Size         int64
	Root         tlog.Hash
	Number       int64 // of the checkpoint
	Checkpoint   events.Hash
	From, To     time.Time
	Silence      time.Duration
	Integrity    verifier.Integrity
	Completeness verifier.Completeness
	Allow        string // empty or "acknowledged"
	Exit         int
	Witnessed    int64
	Cosignatures int
	Lasting      events.Hash
	JSON         events.Hash

	Body string // for people
}

// StatementOf returns the statement about the report rep, which the caller then signs. body is the
// report as text, and becomes a part of the statement.
func StatementOf(rep Report, body string) (Statement, error) {
	c, err := checkpointOf(rep.Verdict)
	if err != nil {
		return Statement{}, err
	}
	s := Statement{
		Size: c.Size, Root: c.Root, Number: c.Number, Checkpoint: events.HashOf([]byte(rep.Verdict.Checkpoint.Note)),
		From: rep.From, To: rep.To, Silence: rep.Silence, Exit: rep.Exit,
		Integrity: rep.Verdict.Integrity, Completeness: rep.Verdict.Completeness, Body: body,
	}
	if rep.Verdict.AllowAcknowledged {
		s.Allow = allowAcknowledged
	}
	if rep.Facts != nil {
		s.Witnessed, s.Cosignatures = rep.Facts.Witnessed, rep.Facts.Cosignatures
	}
	if s.Origin, err = ledger.Origin(rep.Tenant); err != nil {
		return Statement{}, err
	}
	if s.Lasting, err = rep.lasting(); err != nil {
		return Statement{}, err
	}
	data, err := rep.JSON()
	s.JSON = events.HashOf(data)
	return s, err
}

// lasting returns a digest of the facts that later records cannot change, such as the number of
// events in the range.
func (rep Report) lasting() (events.Hash, error) {
	f := rep.Facts
	if f == nil {
		f = &Facts{}
	}
	data, err := json.Marshal([]any{
		f.Records, f.Events, f.Kinds, f.OtherKinds, f.Uses, f.UseCount, f.Orders, f.Checkpoints,
	})
	return events.HashOf(data), err
}

// Text returns the text of the statement without a signature.
func (s Statement) Text() string {
	b := []byte(statementHeader)
	for _, f := range [...]struct{ name, value string }{
		{"origin", s.Origin},
		{"tree", fmt.Sprintf("%d %s", s.Size, s.Root)},
		{"checkpoint", fmt.Sprintf("%d %s", s.Number, s.Checkpoint)},
		{"from", ledger.FormatTime(s.From)},
		{"to", ledger.FormatTime(s.To)},
		{"silence", s.Silence.String()},
		{"integrity", string(s.Integrity)},
		{"completeness", string(s.Completeness)},
		{"allow", s.Allow},
		{"exit", strconv.Itoa(s.Exit)},
		{"witnessed", fmt.Sprintf("%d %d", s.Witnessed, s.Cosignatures)},
		{"lasting", s.Lasting.String()},
		{"json", s.JSON.String()},
	} {
		b = ledger.AppendField(b, f.name, f.value)
	}
	return string(b) + "\n" + s.Body
}

var errStatement = errors.New("it is not a report")

// ParseStatement parses the output of [Statement.Text]. Any other text is an error.
func ParseStatement(text string) (Statement, error) {
	var s Statement
	rest, ok := strings.CutPrefix(text, statementHeader)
	if !ok {
		return s, errStatement
	}
	fields, body, ok := strings.Cut(rest, "\n\n")
	if !ok {
		return s, errStatement
	}
	s.Body = body
	if err := statement.EachField(fields+"\n", s.set); err != nil {
		return Statement{}, fmt.Errorf("%w: %w", errStatement, err)
	}
	// Compare with the encoded statement, to reject reordered fields, repeated fields and needless
	// escapes.
	if s.Text() != text {
		return Statement{}, fmt.Errorf("%w: not in canonical form", errStatement)
	}
	return s, nil
}

func (s *Statement) set(name, value string) (err error) {
	first, second, _ := strings.Cut(value, " ")
	switch name {
	case "origin":
		s.Origin = value
	case "tree":
		if s.Size, err = strconv.ParseInt(first, 10, 64); err == nil {
			s.Root, err = tlog.ParseHash(second)
		}
	case "checkpoint":
		if s.Number, err = strconv.ParseInt(first, 10, 64); err == nil {
			s.Checkpoint, err = events.ParseHash(second)
		}
	case "from":
		s.From, err = time.Parse(time.RFC3339Nano, value)
	case "to":
		s.To, err = time.Parse(time.RFC3339Nano, value)
	case "witnessed":
		if s.Witnessed, err = strconv.ParseInt(first, 10, 64); err == nil {
			s.Cosignatures, err = strconv.Atoi(second)
		}
	default:
		return s.setVerdict(name, value)
	}
	return err
}

func (s *Statement) setVerdict(name, value string) (err error) {
	switch name {
	case "silence":
		s.Silence, err = time.ParseDuration(value)
	case "integrity":
		s.Integrity = verifier.Integrity(value)
	case "completeness":
		s.Completeness = verifier.Completeness(value)
	case "allow":
		if s.Allow = value; value != allowAcknowledged {
			err = errStatement
		}
	case "exit":
		s.Exit, err = strconv.Atoi(value)
	case "lasting":
		s.Lasting, err = events.ParseHash(value)
	case "json":
		s.JSON, err = events.ParseHash(value)
	default:
		return errStatement
	}
	return err
}
