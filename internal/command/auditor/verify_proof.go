package auditor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type proofReport struct {
	Proof      string              `json:"proof"` // file name
	Integrity  verifier.Integrity  `json:"integrity"`
	Problem    string              `json:"problem,omitempty"`
	Tenant     string              `json:"tenant,omitempty"`
	Leaf       int64               `json:"leaf"`
	Leaves     int64               `json:"leaves"` // that the checkpoint covers
	Checkpoint time.Time           `json:"checkpoint"`
	Key        string              `json:"key"`
	Record     *provedRecord       `json:"record,omitempty"`    // nil if not proved
	Event      string              `json:"event,omitempty"`     // file with the bytes of the record
	Anchor     *verifier.Anchor    `json:"anchor,omitempty"`    // nil if not proved
	Witnesses  *verifier.Witnesses `json:"witnesses,omitempty"` // nil without a policy
	Exit       int                 `json:"exit"`

	signed []byte // the checkpoint
	newest ledger.Checkpoint
}

type provedRecord struct {
	Class    ledger.Class `json:"class"`
	ID       string       `json:"id,omitempty"`
	Producer string       `json:"producer,omitempty"`
	Sequence uint64       `json:"sequence,omitempty"`
	Run      string       `json:"run,omitempty"`
	Kind     events.Kind  `json:"kind,omitempty"`
	Time     time.Time    `json:"time"`
	SHA256   string       `json:"sha256"`
}

func (v verification) runProof(cmd *cobra.Command, shared *cli.Shared) error {
	text, err := os.ReadFile(v.proof)
	if err != nil {
		return fmt.Errorf("proof: %w", err)
	}
	var event []byte
	if v.event != "" {
		if event, err = os.ReadFile(v.event); err != nil {
			return fmt.Errorf("event of the proof: %w", err)
		}
	}
	r := proofReport{Proof: v.proof, Integrity: verifier.Verified, Event: v.event}
	key, err := v.proofKey(shared, &r, text)
	if err != nil {
		return err
	}
	r.Key = ledger.KeyID(key)
	if err := r.check(text, event, key, shared.Tenant); err != nil {
		r.Integrity, r.Problem, r.Exit = verifier.Invalid, err.Error(), verifier.ExitInvalid
	} else if r.Witnesses, err = v.witnessedProof(r.signed, r.newest); err != nil {
		return err
	} else {
		r.conclude()
	}
	return printVerdict(cmd, shared, r, r.Exit, func(out io.Writer) { r.print(lines{out: out, palette: cli.PaletteFor(out)}) })
}

func (r *proofReport) check(text, event []byte, key note.Verifier, tenant string) error {
	p, err := transparency.ParseProof(text)
	if err != nil {
		return err
	}
	c, err := ledger.OpenCheckpoint(p.Checkpoint, note.VerifierList(key))
	if err != nil {
		return err
	}
	r.signed, r.newest = p.Checkpoint, c
	r.Tenant, r.Leaf, r.Leaves, r.Checkpoint = c.Tenant, p.Index, c.Size, c.Time
	if tenant != "" && c.Tenant != tenant {
		return fmt.Errorf("it is of tenant %q", c.Tenant)
	}
	if err := p.Check(p.Extra, c.Size, c.Root); err != nil {
		return err
	}
	l, err := ledger.ParseLeaf(p.Extra)
	if err != nil {
		return err
	}
	r.Record = &provedRecord{
		Class: l.Class, ID: l.ID, Producer: l.Producer, Sequence: l.Sequence,
		Run: l.Run, Kind: l.Kind, Time: l.Time, SHA256: l.Hash.String(),
	}
	// The command auditor replay appends a line feed to each event, so remove the line feed before
	// hashing.
	if event != nil && events.HashOf(bytes.TrimSuffix(event, []byte("\n"))) != l.Hash {
		return errors.New("the proof is that of other bytes than the event's")
	}
	return nil
}

func (r *proofReport) print(l lines) {
	if r.Problem != "" {
		l.print("Proof", l.verdict(string(r.Integrity), l.palette.Bad), r.Problem)
		return
	}
	text := fmt.Sprintf("leaf %s of %s, checkpoint %s, key %s",
		thousands(r.Leaf), thousands(r.Leaves), r.Checkpoint.Format(time.RFC3339), r.Key)
	if r.Witnesses != nil {
		text += ", " + r.Witnesses.String()
	}
	l.print("Proof", l.verdict(string(r.Integrity), l.palette.Good), text)
	l.anchor(r.Anchor)
	l.witnesses(r.Witnesses)
	rec := r.Record
	l.print("Record", "", fmt.Sprintf("%s %s of tenant %q, producer %s #%d, %s", rec.Class, rec.ID, r.Tenant,
		rec.Producer, rec.Sequence, rec.Time.Format(time.RFC3339Nano)))
	l.print("SHA-256", "", rec.SHA256)
	if r.Event != "" {
		l.print("Event", "", r.Event+" has these bytes")
	}
}
