package events

import (
	"reflect"
	"slices"
	"strings"
)

func (o *Outcome) settle(e Event) {
	if e.Denies() {
		o.Verdict = VerdictDeny
	}
}

func (d *ToolResultData) settle(e Event) {
	d.Outcome.settle(e)
	if e.CallSucceeded() {
		d.Status = ToolSuccess
	}
	d.Status = knownStatus(d.Status, d.Status)
}

func (d *StepFinishedData) settle(Event) { d.StepStatus = knownStatus(d.StepStatus, StepUnknown) }

func (d *RunFinishedData) settle(Event) {
	if d.RunStatus != "" {
		d.SetStatus(d.Status())
	}
}

func knownStatus[T ~string](status, unknown T) T {
	lower := strings.ToLower(string(status))
	if slices.Contains(enums[reflect.TypeFor[T]()], lower) {
		return T(lower)
	}
	return unknown
}
