package agents

import "github.com/hooktrail/hooktrail/pkg/events"

// leftInTurn sets the status of an ended sub-agent to unknown. The agent does not report the
// outcome of a sub-agent, and calls without a result do not prove a success.
func leftInTurn(list []events.Event) {
	for i := range list {
		e := &list[i]
		var err error
		switch e.Kind() { //nolint:exhaustive // these kinds state the end
		case events.SubagentStopped:
			err = edit(e, func(d *events.SubagentStoppedData) { d.Status = "" })
		case events.StepFinished:
			err = edit(e, func(d *events.StepFinishedData) { d.StepStatus = events.StepUnknown })
		case events.RunFinished:
			err = edit(e, func(d *events.RunFinishedData) {
				d.Reason = events.ReasonInTurn
				d.SetStatus(events.RunUnknown)
			})
		default:
			continue
		}
		if err == nil { // earlier versions wrote a success under the usual id
			e.ID = events.DeriveID(e.ID, events.ReasonInTurn)
		}
	}
}

func edit[T any](e *events.Event, change func(*T)) error {
	d, err := events.Payload[T](*e)
	if err != nil {
		return err
	}
	change(&d)
	return e.SetData(d)
}
