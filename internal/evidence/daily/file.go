package daily

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/statement"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// UnsignedEnd stands where a signature would be.
const UnsignedEnd = "\nNot signed: the private key of the ledger was not at hand.\n"

// A Made report has both forms of it.
type Made struct {
	Report Report
	Note   []byte // the statement with the text for people, with a signature if Signed
	Signed bool
}

// Make returns the forms of a report, without a signature if signer is nil. public is the
// verifier key of the signer. The error wraps [statement.ErrOtherKey] if the signer is not in
// charge of the ledger.
func Make(rep Report, text func(Report) string, signer note.Signer, public string) (Made, error) {
	s, err := StatementOf(rep, text(rep))
	if err != nil {
		return Made{}, fmt.Errorf("report: %w", err)
	}
	if signer == nil {
		return Made{Report: rep, Note: []byte(s.Text() + UnsignedEnd)}, nil
	}
	if err := statement.InCharge(signer, public, []byte(rep.Verdict.Checkpoint.Note)); err != nil {
		return Made{}, fmt.Errorf("report: %w", err)
	}
	signed, err := statement.Sign(s.Text(), signer, public)
	if err != nil {
		return Made{}, fmt.Errorf("report: %w", err)
	}
	return Made{Report: rep, Note: signed, Signed: true}, nil
}

// document is the form for programs.
type document struct {
	Report json.RawMessage `json:"report"`
	Note   string          `json:"note"`
	Signed bool            `json:"signed"`
}

// JSON returns the form for programs.
func (m Made) JSON() ([]byte, error) {
	data, err := m.Report.JSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(document{Report: data, Note: string(m.Note), Signed: m.Signed})
	return out.Bytes(), err
}

// File is a report from outside, in either form.
type File struct {
	note   []byte
	report json.RawMessage // nil for the form for people
}

var errFile = errors.New("it is neither the text nor the JSON of a report")

// Parse reads the output of [Made.JSON] or [Made.Note].
func Parse(data []byte) (File, error) {
	if bytes.HasPrefix(data, []byte(statementHeader)) {
		return File{note: data}, nil
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil || !strings.HasPrefix(d.Note, statementHeader) || d.Report == nil {
		return File{}, errFile
	}
	return File{note: []byte(d.Note), report: d.Report}, nil
}

// Claims returns the unchecked tenant and size of the tree, and whether there is a
// signature.
func (f File) Claims() (tenant string, size int64, signed bool) {
	text, signed := f.split()
	s, err := ParseStatement(text)
	if err != nil {
		return "", 0, signed
	}
	return s.Tenant(), s.Size, signed
}

func (f File) split() (text string, signed bool) {
	if text, ok := strings.CutSuffix(string(f.note), UnsignedEnd); ok {
		return text, false
	}
	text, _, ok := cutLast(string(f.note), "\n\n")
	return text + "\n", ok
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Tenant returns the tenant of the ledger.
func (s Statement) Tenant() string {
	tenant, err := ledger.TenantOf(s.Origin)
	if err != nil {
		return ""
	}
	return tenant
}

// IsSignedBy reports whether exactly one of keys signed the file.
func (f File) IsSignedBy(keys note.Verifiers) bool {
	_, err := statement.Open(f.note, keys)
	return err == nil
}

// Check returns the statement of a file. If the file has a signature, one of keys must have
// made it. The form for programs must agree with the statement, and text renders it for
// people.
func (f File) Check(keys note.Verifiers, text func(Report) string) (s Statement, signed bool, err error) {
	content, signed := f.split()
	if signed {
		if content, err = statement.Open(f.note, keys); err != nil {
			return s, true, err
		}
	}
	if s, err = ParseStatement(content); err != nil || f.report == nil {
		return s, signed, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.report); err != nil {
		return s, signed, errFile
	}
	if events.HashOf(compact.Bytes()) != s.JSON {
		return s, signed, errors.New("its JSON is not the one in the statement")
	}
	var rep Report
	if err := json.Unmarshal(f.report, &rep); err != nil {
		return s, signed, errFile
	}
	// Another version may render it in another way. Then the signature vouches for both.
	if !signed && text(rep) != s.Body {
		return s, signed, errors.New("its text says something else than its JSON")
	}
	return s, signed, nil
}
