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

// UnsignedEnd is the last line of an unsigned report. A signed report has its signature at this
// place.
const UnsignedEnd = "\nNot signed: the private key of the ledger was not at hand.\n"

// Made is a finished report, as JSON for programs and as text for people.
type Made struct {
	Report Report
	// Note contains the fields of the [Statement], the report as text and, if Signed is true, the
	// signature.
	Note   []byte
	Signed bool
}

// Make renders the report rep with the given function, and signs the resulting text. Without a
// signer, the report is unsigned. If the verifier key public did not sign the newest checkpoint,
// the error wraps [statement.ErrOtherKey].
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

type document struct {
	Report json.RawMessage `json:"report"`
	Note   string          `json:"note"`
	Signed bool            `json:"signed"`
}

// JSON returns the report and its signed text in one JSON document.
func (m Made) JSON() ([]byte, error) {
	data, err := m.Report.JSON()
	if err != nil {
		return nil, err
	}
	return document{Report: data, Note: string(m.Note), Signed: m.Signed}.encode()
}

func (d document) encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(d)
	return out.Bytes(), err
}

// File is the content of a report file from an unknown source, as text or as JSON.
type File struct {
	note   []byte
	report json.RawMessage // nil in the form for people
}

var (
	errFile    = errors.New("it is neither the text nor the JSON of a report")
	errChanged = errors.New("its members are not the ones that `auditor report --json` writes")
)

// Parse parses a report file, which is either text or JSON.
func Parse(data []byte) (File, error) {
	if bytes.HasPrefix(data, []byte(statementHeader)) {
		return File{note: data}, nil
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil || !strings.HasPrefix(d.Note, statementHeader) || d.Report == nil {
		return File{}, errFile
	}
	f := File{note: []byte(d.Note), report: d.Report}
	// Encode the document again and compare, to reject repeated names, which JSON libraries
	// interpret differently.
	written, err := d.encode()
	if _, signed := f.split(); err != nil || d.Signed != signed || !isSameJSON(written, data) {
		return File{}, errChanged
	}
	return f, nil
}

func isSameJSON(a, b []byte) bool {
	var first, second bytes.Buffer
	err := errors.Join(json.Compact(&first, a), json.Compact(&second, b))
	return err == nil && bytes.Equal(first.Bytes(), second.Bytes())
}

// Claims returns the tenant and the number of records in the ledger, as the report file states
// them, and whether the file has a signature. It verifies nothing.
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

// Tenant returns the tenant in the statement's origin, or "" if the origin is invalid.
func (s Statement) Tenant() string {
	tenant, err := ledger.TenantOf(s.Origin)
	if err != nil {
		return ""
	}
	return tenant
}

// IsSignedBy reports whether exactly one of the keys signed the file.
func (f File) IsSignedBy(keys note.Verifiers) bool {
	_, err := statement.Open(f.note, keys)
	return err == nil
}

// Unchecked is like [File.Check], but does not check the signature.
func (f File) Unchecked(text func(Report) string) (Statement, error) {
	content, signed := f.split()
	return f.agrees(content, signed, text)
}

// Check returns the statement in the report file. signed is true if one of the given keys signed
// the file. In a JSON file, the report must match the statement.
//
// A file without a signature could contain any text. Its text must therefore be equal to the text
// that the given function renders from the report.
func (f File) Check(keys note.Verifiers, text func(Report) string) (s Statement, signed bool, err error) {
	content, signed := f.split()
	if signed {
		if content, err = statement.Open(f.note, keys); err != nil {
			return s, true, err
		}
	}
	s, err = f.agrees(content, signed, text)
	return s, signed, err
}

func (f File) agrees(content string, signed bool, text func(Report) string) (s Statement, err error) {
	if s, err = ParseStatement(content); err != nil || f.report == nil {
		return s, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.report); err != nil {
		return s, errFile
	}
	if events.HashOf(compact.Bytes()) != s.JSON {
		return s, errors.New("its JSON is not the one in the statement")
	}
	var rep Report
	if err := json.Unmarshal(f.report, &rep); err != nil {
		return s, errFile
	}
	// A signed text may differ, because another version of Hooktrail may have rendered it.
	if !signed && text(rep) != s.Body {
		return s, errors.New("its text says something else than its JSON")
	}
	return s, nil
}
