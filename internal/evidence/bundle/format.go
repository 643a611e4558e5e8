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

// bundleFiles are all of them, in the order in which they are written.
var bundleFiles = []string{ //nolint:gochecknoglobals // a constant
	aboutFile, checkpointFile, keyFile, witnessedFile, leavesFile, recordsFile, againFile, treeFile, pageFile, sumsFile,
}

// bundleFormat names the format. What is added to it changes the number.
const bundleFormat = "hooktrail/bundle/v1"

// About says what a bundle holds. Nobody signs it: [Check] compares it with what
// is there.
type About struct {
	Format string    `json:"format"` // "hooktrail/bundle/v1"
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"`
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Leaves int64     `json:"leaves"` // that it holds
	Size   int64     `json:"size"`   // of the whole tree
	// Unheard are the producers of which nothing came since the stream broke off; only
	// a bundle of everything names them.
	Unheard []string `json:"unheard,omitempty"`
}

func (a About) selection() ledger.Selection {
	return ledger.Selection{Run: a.Run, From: a.From, To: a.To}
}

// extent says whether all of something is there, so that completeness can be judged.
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
	Raw    []byte    `json:"leaf_base64,omitempty"` // the same, where that is no UTF-8
	Epoch  uint64    `json:"epoch"`
	Stream uint64    `json:"stream"`
	Stored time.Time `json:"stored,omitzero"`
	// Of a record whose bytes were destroyed: in which word, and the leaf of the
	// order. Its line in records.jsonl is null.
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

// noRecord is the line of a record whose bytes were destroyed.
const noRecord = "null"

// appendRecord appends the line of a record, without its end. nil is that of one
// whose bytes were destroyed.
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

// isLine reports whether a record can stand in a line as it is.
func isLine(record []byte) bool {
	return len(record) > 0 && record[0] == '{' && bytes.IndexByte(record, '\n') < 0 && bytes.IndexByte(record, '\r') < 0
}

// errRecord is returned for a line of records.jsonl that is none.
var errRecord = errors.New("neither a record nor the base64 of one")

// parseRecord reads the line of a record, in the one form that it has. It returns
// nil for one whose bytes were destroyed.
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
		record = []byte{} // there, and empty
	}
	if err != nil || !bytes.Equal(appendRecord(nil, record), line) {
		return nil, errRecord
	}
	return record, nil
}

// parseLine reads a line of JSON that has the fields of into and no others.
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
