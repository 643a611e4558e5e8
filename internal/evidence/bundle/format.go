package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The files of a bundle.
const (
	aboutFile      = "bundle.json"
	checkpointFile = "checkpoint.txt"
	keyFile        = "ledger.pub"
	witnessedFile  = "witnessed.txt"
	leavesFile     = "leaves.jsonl"
	recordsFile    = "records.jsonl"
	againFile      = "again.jsonl"
	treeFile       = "tree.txt"
	pageFile       = "index.html"
	sumsFile       = "SHA256SUMS"
)

// bundleFiles are all files in the order of the zip file.
var bundleFiles = []string{ //nolint:gochecknoglobals // a constant
	aboutFile, checkpointFile, keyFile, witnessedFile, leavesFile, recordsFile, againFile, treeFile, pageFile, sumsFile,
}

// bundleFormat names the format. Any addition needs a new version.
const bundleFormat = "hooktrail/bundle/v1"

// About describes a bundle. It is not signed. [Check] compares it with the contents.
type About struct {
	Format string    `json:"format"` // "hooktrail/bundle/v1"
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"`
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Leaves int64     `json:"leaves"` // in the bundle
	Size   int64     `json:"size"`   // of the tree
	// Unheard lists the producers that sent nothing after a break of the stream. Only a
	// bundle of the whole ledger has it.
	Unheard []string `json:"unheard,omitempty"`
}

func (a About) selection() ledger.Selection {
	return ledger.Selection{Run: a.Run, From: a.From, To: a.To}
}

// extent returns the extent of the bundle. ok is false for a time range, whose
// completeness cannot be judged.
func (a About) extent() (e verifier.Extent, ok bool) {
	switch {
	case a.selection().IsAll():
		return verifier.WholeLedger, true
	case a.From.IsZero() && a.To.IsZero():
		return verifier.WholeRun, true
	}
	return verifier.WholeRun, false
}

// leafLine is a line of leaves.jsonl.
type leafLine struct {
	Index  int64     `json:"index"`
	Leaf   string    `json:"leaf,omitempty"`        // as the tree hashes it
	Raw    []byte    `json:"leaf_base64,omitempty"` // replaces leaf if it is not UTF-8
	Epoch  uint64    `json:"epoch"`
	Stream uint64    `json:"stream"`
	Stored time.Time `json:"stored,omitzero"`
	// Removed and Order describe an erased record, with the leaf of the order. The
	// record's line is null.
	Removed ledger.Word `json:"removed,omitempty"`
	Order   int64       `json:"order,omitempty"`
}

func lineOfLeaf(e ledger.Entry) leafLine {
	line := leafLine{
		Index: e.Leaf, Epoch: e.Epoch, Stream: e.StreamSequence, Stored: e.Stored, Removed: e.Removal.Word, Order: e.Removal.Order,
	}
	if leaf := e.LeafOf().Encode(); utf8.Valid(leaf) {
		line.Leaf = string(leaf)
	} else {
		line.Raw = leaf
	}
	return line
}

// bytes returns the leaf as the tree hashes it.
func (l leafLine) bytes() []byte {
	if l.Raw != nil {
		return l.Raw
	}
	return []byte(l.Leaf)
}

// againLine is a line of again.jsonl.
type againLine struct {
	Leaf     int64       `json:"leaf"`
	Run      string      `json:"run,omitempty"`
	Kind     events.Kind `json:"kind,omitempty"`
	Producer string      `json:"producer"`
	Sequence uint64      `json:"sequence"`
	Hash     string      `json:"sha256"`
	Epoch    uint64      `json:"epoch"`
	Stream   uint64      `json:"stream"`
	Stored   time.Time   `json:"stored,omitzero"`
}

func lineOfAgain(a ledger.Again) againLine {
	return againLine{
		Leaf: a.Leaf, Run: a.Run, Kind: a.Kind, Producer: a.Producer, Sequence: a.Sequence,
		Hash: a.Hash.String(), Epoch: a.Epoch, Stream: a.Stream, Stored: a.Stored,
	}
}

func (l againLine) again() (ledger.Again, error) {
	hash, err := events.ParseHash(l.Hash)
	return ledger.Again{
		Leaf: l.Leaf, Run: l.Run, Kind: l.Kind, Producer: l.Producer, Sequence: l.Sequence,
		Hash: hash, Epoch: l.Epoch, Stream: l.Stream, Stored: l.Stored,
	}, err
}

// noRecord is the line of an erased record.
const noRecord = "null"

// appendRecord appends the line of a record without a line feed. A nil record was
// erased.
func appendRecord(dst, record []byte) []byte {
	if record == nil {
		return append(dst, noRecord...)
	}
	if isLine(record) {
		return append(dst, record...)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, record)
	return append(dst, '"')
}

// isLine reports whether a record can be stored as a line.
func isLine(record []byte) bool {
	return len(record) > 0 && record[0] == '{' && bytes.IndexByte(record, '\n') < 0 && bytes.IndexByte(record, '\r') < 0
}

// errRecord is returned for an invalid line of records.jsonl.
var errRecord = errors.New("neither a record nor the base64 of one")

// parseRecord parses a line in canonical form. It returns nil for an erased record.
func parseRecord(line []byte) ([]byte, error) {
	if isLine(line) {
		return line, nil
	}
	if string(line) == noRecord {
		return nil, nil
	}
	if len(line) < 2 || line[0] != '"' || line[len(line)-1] != '"' {
		return nil, errRecord
	}
	record, err := base64.StdEncoding.DecodeString(string(line[1 : len(line)-1]))
	if record == nil {
		record = []byte{} // empty, not erased
	}
	if err != nil || !bytes.Equal(appendRecord(nil, record), line) {
		return nil, errRecord
	}
	return record, nil
}

// parseLine parses a JSON line. It rejects unknown fields.
func parseLine(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not a line of it: %w", err)
	}
	if d.More() {
		return errors.New("there is more in its line")
	}
	return nil
}
