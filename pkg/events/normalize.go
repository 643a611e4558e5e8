package events

import "strings"

// Normalize prepares e for publication and validates it like [Event.Validate]. The time becomes
// UTC, the run type upper case, and Data compact JSON. An empty subject is set to the run. In an
// event of Hooktrail, an empty run is set to the subject.
//
// Normalize replaces e.Data and does not change the old slice.
func (e *Event) Normalize() error {
	if !e.Time.IsZero() {
		e.Time = e.Time.Round(0).UTC() // Round drops the monotonic clock
	}
	if e.Subject == "" {
		e.Subject = e.Run
	}
	if _, own := e.ownKind(); own && e.Run == "" {
		e.Run = e.Subject
	}
	e.RunType = strings.ToUpper(e.RunType)
	if len(e.Data) == 0 {
		e.Data = nil
	}
	if err := e.validateAttributes(); err != nil {
		return err
	}
	m, err := e.matchData()
	if err != nil {
		return err
	}
	e.upperRunType(m.runType)
	if m.scan.space {
		e.Data = compact(e.Data)
	}
	return nil
}

func (e *Event) upperRunType(at span) {
	if at.end-at.start < 2 || e.Data[at.start] != '"' {
		return
	}
	old := string(unescape(e.Data[at.start+1 : at.end-1]))
	upper := strings.ToUpper(old)
	if upper == old {
		return
	}
	data := make([]byte, 0, len(e.Data)+len(upper))
	data = append(data, e.Data[:at.start]...)
	data = appendString(data, upper)
	e.Data = append(data, e.Data[at.end:]...)
}
