package auditor

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// maxDoubted is below the number of second records with which the verifier may leave some out.
const maxDoubted = 1 << 13

type signedRecords struct {
	enrolled map[string]bool
	listed   map[string]uint64 // highest number in a manifest, by producer
	foreign  map[int64]bool    // leaves
	taken    map[number]bool   // somebody else used the number before its producer
}

type number struct {
	producer string
	sequence uint64
}

func readSigned(ctx context.Context, dataDir string, r *ledger.Reader) (signedRecords, error) {
	s := signedRecords{enrolled: make(map[string]bool), listed: make(map[string]uint64), foreign: make(map[int64]bool), taken: make(map[number]bool)}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(dataDir))
	if err != nil {
		return s, err
	}
	report, err := verifier.Verify(ctx, r.Path(), verifier.Options{Key: key, Changes: rotations(dataDir), Tenant: r.Tenant(), Doubts: true})
	if err != nil {
		return s, err
	}
	switch {
	case report.Integrity != verifier.Verified || report.Doubts == nil:
		return s, errors.New("the ledger is INVALID, so it proves no answer of a tracker: see auditor verify")
	case report.Doubts.Incomplete:
		return s, errors.New("the ledger has too many foreign records to find the answer of the tracker: see auditor verify")
	}
	for _, p := range report.Producers {
		s.enrolled[p.Name], s.listed[p.Name] = p.Enrolled, p.Listed
	}
	for _, f := range report.Doubts.Foreign {
		s.foreign[f.Leaf] = true
		if f.Class == ledger.ClassEvent && len(report.Doubts.Foreign) < maxDoubted {
			s.taken[number{f.Producer, f.Sequence}] = true
		}
	}
	return s, nil
}

func (s signedRecords) covers(p ledger.Sent) bool {
	return s.enrolled[p.Producer] && p.Sequence <= s.listed[p.Producer] && !s.foreign[p.Leaf]
}

// coversSecond reports whether the producer signed the record, and the first record with its number
// is of somebody else. Then all other records with this number are foreign.
func (s signedRecords) coversSecond(p ledger.Sent) bool {
	return s.covers(p) && s.taken[number{p.Producer, p.Sequence}]
}

func (s signedRecords) mayDecide(p ledger.Sent) bool {
	if s.enrolled[p.Producer] {
		return s.covers(p)
	}
	return !s.foreign[p.Leaf]
}
