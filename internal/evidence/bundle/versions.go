package bundle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Versions of the bundle format. Earlier versions of Hooktrail reject a bundle in a newer format.
const (
	formatV1 = "hooktrail/bundle/v1"
	formatV2 = "hooktrail/bundle/v2" // with selection.txt
	formatV3 = "hooktrail/bundle/v3" // with timestamp.txt
	formatV4 = "hooktrail/bundle/v4" // of a range of storage times
	formatV5 = "hooktrail/bundle/v5" // with the ledger's verdict on a run or a range of storage times
)

func filesOf(format string) []string {
	return slices.DeleteFunc(slices.Clone(bundleFiles), func(name string) bool {
		return name == selectionFile && format == formatV1 || name == stampFile && format != formatV3
	})
}

func formatOf(has func(name string) bool) string {
	switch {
	case has(stampFile):
		return formatV3
	case has(selectionFile):
		return formatV2
	}
	return formatV1
}

func (b *bundle) setFormat() {
	if b.stamp != nil {
		b.about.Format = formatV3
	}
	if b.selection.Stored && b.about.extent() == verifier.TimeRange {
		b.about.Format, b.about.Times = formatV4, storedTimes
	}
	if b.about.Window != nil {
		b.about.Format, b.about.Stamped = formatV5, b.stamp != nil
	}
}

func checkFormat(a About, names []string) error {
	has := func(name string) bool { return slices.Contains(names, name) }
	switch a.Format {
	case formatV5:
		isRun := a.extent() == verifier.WholeRun && a.Times == ""
		if !isRun && !a.isStoredRange() || a.Window == nil || !has(selectionFile) {
			return errors.New("it is neither a run nor a range of time with a verdict of the ledger, as " + formatV5 + " requires")
		}
		if a.Stamped != has(stampFile) {
			return errors.New("it does not agree with the files on " + stampFile)
		}
		return nil
	case formatV4:
		if !a.isStoredRange() || !has(selectionFile) {
			return errors.New("it is not a range of time by the times of storage, as " + formatV4 + " requires")
		}
		return nil
	case formatV1, formatV2, formatV3:
		return a.checkOld(formatOf(has))
	}
	return errors.New("it is of another format than " + formatV1 + " to " + formatV5)
}

func (a About) checkOld(format string) error {
	if a.Times != "" || a.Window != nil {
		return errors.New("it has a verdict of the ledger, which only " + formatV4 + " and " + formatV5 + " have")
	}
	if a.Format != format {
		return fmt.Errorf("it is of format %s, which has other files", a.Format)
	}
	return nil
}

func (a About) isStoredRange() bool {
	return a.Times == storedTimes && a.extent() == verifier.TimeRange
}
