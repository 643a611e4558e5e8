package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	aboutFile      = "bundle.json"
	checkpointFile = "checkpoint.txt"
	keyFile        = "ledger.pub"
	witnessedFile  = "witnessed.txt"
	stampFile      = "timestamp.txt"
	leavesFile     = "leaves.jsonl"
	recordsFile    = "records.jsonl"
	againFile      = "again.jsonl"
	treeFile       = "tree.txt"
	pageFile       = "index.html"
	selectionFile  = "selection.txt"
	sumsFile       = "SHA256SUMS"
)

var bundleFiles = []string{ //nolint:gochecknoglobals // a constant
	aboutFile, checkpointFile, keyFile, witnessedFile, stampFile, leavesFile, recordsFile, againFile, treeFile, pageFile, selectionFile, sumsFile,
}

// storedTimes is the value of Times if From and To are the times when the ledger stored the events.
// Otherwise, From and To are the times in the events.
const storedTimes = "stored"

// About is the content of bundle.json, which describes the bundle. [Check] compares it with the
// other files of the bundle.
type About struct {
	Format string    `json:"format"`
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"`
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Times  string    `json:"times,omitempty"` // "stored" if From and To are storage times
	Leaves int64     `json:"leaves"`          // number of leaves in the bundle
	Size   int64     `json:"size"`            // number of leaves in the ledger
	// Stamped means that the bundle contains the file timestamp.txt. Bundles in an earlier format
	// than version 5 do not set Stamped.
	Stamped bool `json:"stamped,omitempty"`
	// SilentProducers are producers that sent nothing after the stream lost messages or was
	// replaced. A bundle of a run lists only producers of that run.
	SilentProducers []string `json:"unheard,omitempty"`
	// Seals are the newest events, one for each producer, with which the producers declared that
	// they had sent all events of the run.
	Seals []Seal `json:"seals,omitempty"`
	// Gaps are ranges of missing sequence numbers. The missing events may belong to the run.
	Gaps []verifier.Gap `json:"gaps,omitempty"`
	// Acknowledged are signed orders by which a person acknowledged findings about the run. A
	// bundle of a time range or of the whole ledger has these orders among its records.
	Acknowledged []AcknowledgeOrder `json:"acknowledged,omitempty"`
	// Absent lists producers of the run from which events may be missing.
	Absent []Absent `json:"absent,omitempty"`
	// Unsealed means that the ledger has no proof that the run has ended.
	Unsealed bool `json:"unsealed,omitempty"`
	// Pending are replacements of the ledger's signing key that the ledger has not recorded yet.
	Pending []ledger.PendingChange `json:"pending,omitempty"`
	// Window is the ledger's verdict on the bundle's time range or run. It is nil if the bundle has
	// no verdict.
	Window *Window `json:"window,omitempty"`
}

// AcknowledgeOrder is a signed order by which a person acknowledged findings. Leaf is the number of
// the order's record in the ledger. The bundle may lack this record.
type AcknowledgeOrder struct {
	Leaf  int64  `json:"leaf"`
	Order string `json:"order"`
}

// Absent is a producer from which events may be missing in the ledger, because the producer went
// silent, or because its local queue of unsent events is lost.
type Absent struct {
	Producer string         `json:"producer"`
	Heard    time.Time      `json:"heard,omitzero"`
	Lost     *verifier.Lost `json:"lost,omitempty"` // nil if the producer is silent
}

func (a About) extent() verifier.Extent {
	switch {
	case !a.From.IsZero() || !a.To.IsZero():
		return verifier.TimeRange
	case a.Run != "":
		return verifier.WholeRun
	}
	return verifier.WholeLedger
}

type leafLine struct {
	Index  int64     `json:"index"`
	Leaf   string    `json:"leaf,omitempty"`        // text that the tree hashes
	Raw    []byte    `json:"leaf_base64,omitempty"` // leaf that is not UTF-8
	Epoch  uint64    `json:"epoch"`
	Stream uint64    `json:"stream"`
	Stored time.Time `json:"stored,omitzero"`
	// Removed says how the payload was destroyed. It is empty if the payload exists.
	Removed ledger.Word `json:"removed,omitempty"`
	Order   int64       `json:"order,omitempty"` // leaf of the order that destroyed the payload
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

func (l leafLine) bytes() []byte {
	if l.Raw != nil {
		return l.Raw
	}
	return []byte(l.Leaf)
}

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

func lineOfAgain(a ledger.Repetition) againLine {
	return againLine{
		Leaf: a.Leaf, Run: a.Run, Kind: a.Kind, Producer: a.Producer, Sequence: a.Sequence,
		Hash: a.Hash.String(), Epoch: a.Epoch, Stream: a.Stream, Stored: a.Stored,
	}
}

const noRecord = "null"

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

func isLine(record []byte) bool {
	return len(record) > 0 && record[0] == '{' && bytes.IndexByte(record, '\n') < 0 && bytes.IndexByte(record, '\r') < 0
}

var errRecord = errors.New("neither a record nor the base64 of one")

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
		record = []byte{} // empty, but not erased, which is nil
	}
	if err != nil || !bytes.Equal(appendRecord(nil, record), line) {
		return nil, errRecord
	}
	return record, nil
}

var (
	leafNames  = shapeOf(reflect.TypeFor[leafLine]()).members
	againNames = shapeOf(reflect.TypeFor[againLine]()).members
)

func parseLeafLine(line []byte) (leafLine, error)   { return parseLine[leafLine](line, leafNames) }
func parseAgainLine(line []byte) (againLine, error) { return parseLine[againLine](line, againNames) }

// parseLine rejects JSON with unknown or repeated names, null or invalid text, because JSON
// libraries read such JSON differently.
func parseLine[T any](line []byte, known map[string]*shape) (v T, err error) {
	if !events.IsData(line) || bytes.TrimSpace(line)[0] != '{' {
		return v, errors.New("not a line of it: not a JSON object")
	}
	names := make([]string, 0, 16)
	for name, value := range events.Members(line) {
		if known[name] == nil || slices.Contains(names, name) || string(value) == "null" {
			return v, errors.New("not a line of it: a member is unknown, null or there twice")
		}
		names = append(names, name)
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return v, fmt.Errorf("not a line of it: %w", err)
	}
	return v, nil
}

func parseLeaf(line []byte) (ledger.Leaf, error) {
	l, err := parseLeafLine(line)
	if err != nil {
		return ledger.Leaf{}, err
	}
	return ledger.ParseLeaf(l.bytes())
}

func parseRepetition(line []byte) (ledger.Repetition, error) {
	l, err := parseAgainLine(line)
	if err != nil {
		return ledger.Repetition{}, err
	}
	hash, err := events.ParseHash(l.Hash)
	return ledger.Repetition{
		Leaf: l.Leaf, Run: l.Run, Kind: l.Kind, Producer: l.Producer, Sequence: l.Sequence,
		Hash: hash, Epoch: l.Epoch, Stream: l.Stream, Stored: l.Stored,
	}, err
}
