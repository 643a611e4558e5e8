package hooktrail

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const altered = "ALTERED"

func addAltered(fold *runtree.Fold, entry ledger.Entry, wrong *ledger.RecordError) {
	e, err := events.Decode(entry.Bytes)
	if err != nil {
		e = events.Event{}
	}
	e.ID, e.Type, e.Run, e.Time = entry.ID, entry.Kind.Type(), entry.Run, entry.Time
	fold.AddAltered(e, runtree.Altered{Leaf: wrong.Leaf, ID: wrong.ID, Kind: entry.Kind, Reason: wrong.Err.Error()})
}

func (t runTrace) failure() error {
	altered, denied := 0, 0
	doubts := make(map[string]int)
	for one := range t.All() {
		altered, denied = altered+len(one.Altered), denied+one.DeniedResults
		for _, d := range one.Doubts {
			doubts[d.Status]++
		}
	}
	switch {
	case altered > 0:
		err := fmt.Errorf("run %q: %s altered in the ledger: auditor verify shows the damage", t.Run, plural(altered, "record"))
		return &cli.StatusError{Status: verifier.ExitInvalid, Err: err}
	case t.Integrity == string(verifier.Invalid):
		return invalidLedger(t.Run)
	case denied > 0:
		err := fmt.Errorf("run %q: %s with a successful result", t.Run, plural(denied, "denied call"))
		return &cli.StatusError{Status: verifier.ExitContradicts, Err: err}
	case doubts[runtree.Contradicted] > 0:
		err := fmt.Errorf("run %q: the id or number of %s has other content elsewhere: auditor verify names both",
			t.Run, plural(doubts[runtree.Contradicted], "record"))
		return &cli.StatusError{Status: verifier.ExitContradicts, Err: err}
	case doubts[runtree.Foreign] > 0:
		err := fmt.Errorf("run %q: other writers made %s in the name of a producer", t.Run, plural(doubts[runtree.Foreign], "record"))
		return &cli.StatusError{Status: verifier.ExitIncomplete, Err: err}
	case t.incomplete:
		err := fmt.Errorf("run %q: not every foreign or contradicted record is marked: %s", t.Run, t.Unchecked)
		return &cli.StatusError{Status: verifier.ExitIncomplete, Err: err}
	}
	return nil
}

func (f Fired) failure() error {
	if f.Integrity == string(verifier.Invalid) {
		return invalidLedger(f.Run)
	}
	return nil
}

func invalidLedger(run string) error {
	err := fmt.Errorf("run %q: the ledger is INVALID: auditor verify shows the damage", run)
	return &cli.StatusError{Status: verifier.ExitInvalid, Err: err}
}

func writeInvalid(w io.Writer, integrity string, problems []string, paint cli.Palette) {
	if integrity == string(verifier.Invalid) {
		fmt.Fprintf(w, "%s ledger, so records of this run can be missing: %s\n",
			paint.Bad(integrity), shown(strings.Join(problems, "; "), maxDetail))
	}
}

func writeAltered(w io.Writer, t runtree.Trace, paint cli.Palette) {
	for one := range t.All() {
		list := make([]runtree.Doubt, len(one.Altered))
		for i, a := range one.Altered {
			list[i] = runtree.Doubt{Leaf: a.Leaf, ID: a.ID, Kind: a.Kind, Status: altered, Reason: a.Reason}
		}
		writeRecords(w, list, paint)
	}
}

const maxRecords = 20

func writeRecords(w io.Writer, list []runtree.Doubt, paint cli.Palette) {
	for i, d := range list {
		if i == maxRecords {
			fmt.Fprintf(w, "%s\n", paint.Bad(fmt.Sprintf("and %d more", len(list)-i)))
			return
		}
		fmt.Fprintf(w, "%s leaf %d, %s, event %s: %s\n",
			paint.Bad(d.Status), d.Leaf, d.Kind, shown(d.ID, maxDetail), shown(d.Reason, maxDetail))
	}
}

func alarms(r *runtree.Row) (list []string) {
	if r.Altered {
		list = append(list, "a record of this row was altered in the ledger")
	}
	switch r.Doubt {
	case runtree.Foreign:
		list = append(list, "another writer made a record of this row in the name of a producer")
	case runtree.Contradicted:
		list = append(list, "a record of this row is one of two with the same id or number and other content")
	}
	if r.Undecided && (r.Verdict == "" || r.Verdict == events.VerdictNone) {
		list = append(list, "no hook decided on this call, because the hook command got no answer")
	}
	if r.DeniedResult {
		list = append(list, "the call was denied and has a successful result: the denial had no effect, or the result is forged")
	}
	return list
}

func alteredRecord(err error) (*ledger.RecordError, bool) {
	return errors.AsType[*ledger.RecordError](err)
}
