package transparency

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	proofHeader = "c2sp.org/tlog-proof@v1"

	maxProofBytes = 256 << 10
	maxProofPath  = 63
)

// Proof is a C2SP tlog-proof that a record is in a log. A reader needs only the key of the log to
// check it.
//
//	c2sp.org/tlog-proof@v1
//	extra aG9va3RyYWlsL2xlYWYvdjEKY2xhc3MgZXZlbnQK…
//	index 96
//	gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
//	B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=
//
//	hooktrail/acme
//	91204
//	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	…
//
//	— hooktrail hI2DJw…
type Proof struct {
	// Extra is the record, if the proof comes from a ledger. Extra is not signed, so readers must
	// check its hash.
	Extra      []byte
	Index      int64
	Path       []tlog.Hash // from the sibling of the record to the child of the root
	Checkpoint []byte      // signed note
}

// Encode returns p as text.
func (p Proof) Encode() []byte {
	var b bytes.Buffer
	b.WriteString(proofHeader + "\n")
	if len(p.Extra) > 0 {
		b.WriteString("extra " + base64.StdEncoding.EncodeToString(p.Extra) + "\n")
	}
	fmt.Fprintf(&b, "index %d\n", p.Index)
	for _, h := range p.Path {
		b.WriteString(h.String() + "\n")
	}
	b.WriteByte('\n')
	b.Write(p.Checkpoint)
	return b.Bytes()
}

var errProof = errors.New("not a tlog-proof")

// ParseProof rejects any text that [Proof.Encode] would not write. It does not verify the
// checkpoint.
func ParseProof(text []byte) (Proof, error) {
	var p Proof
	head, note, ok := bytes.Cut(text, []byte("\n\n"))
	if len(text) > maxProofBytes || !ok {
		return p, fmt.Errorf("%w: larger than %d bytes, or no empty line in it", errProof, maxProofBytes)
	}
	lines := strings.Split(string(head), "\n")
	if lines[0] != proofHeader {
		return p, fmt.Errorf("%w: first line", errProof)
	}
	if err := p.parse(lines[1:]); err != nil {
		return Proof{}, fmt.Errorf("%w: %w", errProof, err)
	}
	p.Checkpoint = bytes.Clone(note)
	if !bytes.Equal(p.Encode(), text) {
		return Proof{}, fmt.Errorf("%w: not in canonical form", errProof)
	}
	return p, nil
}

// parse accepts lines that are not canonical. ParseProof rejects them later.
func (p *Proof) parse(lines []string) (err error) {
	if len(lines) > 0 {
		if extra, ok := strings.CutPrefix(lines[0], "extra "); ok {
			if p.Extra, err = base64.StdEncoding.DecodeString(extra); err != nil {
				return errors.New("extra")
			}
			lines = lines[1:]
		}
	}
	if len(lines) == 0 || len(lines) > 1+maxProofPath {
		return errors.New("no index, or more hashes than a tree has levels")
	}
	index, ok := strings.CutPrefix(lines[0], "index ")
	if p.Index, err = strconv.ParseInt(index, 10, 64); err != nil || !ok || p.Index < 0 {
		return errors.New("index")
	}
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return errors.New("hash")
		}
		p.Path = append(p.Path, h)
	}
	return nil
}

// Check returns an error if record is not in the tree with the given size and root. The caller
// must verify that a checkpoint with this size and root was signed.
func (p Proof) Check(record []byte, size int64, root tlog.Hash) error {
	if p.Index >= size {
		return fmt.Errorf("record %d is not among the %d of the checkpoint", p.Index, size)
	}
	if err := tlog.CheckRecord(p.Path, size, root, p.Index, tlog.RecordHash(record)); err != nil {
		return fmt.Errorf("record %d is not in the tree of %d records with the root that was signed", p.Index, size)
	}
	return nil
}
