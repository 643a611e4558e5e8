package events

import "strconv"

// InvalidError says what of an event or manifest cannot be accepted, and where.
// It holds names and reasons, never a value.
type InvalidError struct {
	Attribute string // "time", "data.step_status"; empty when no attribute is to blame
	Offset    int    // byte of the input, from 0; negative when there was no input
	Reason    string
}

// Error returns the attribute, the reason and the position.
func (e *InvalidError) Error() string {
	s := e.Reason
	if e.Attribute != "" {
		s = "attribute " + e.Attribute + ": " + s
	}
	if e.Offset >= 0 {
		s += " (byte " + strconv.Itoa(e.Offset) + ")"
	}
	return s
}

// invalid returns an error about a value that did not come from bytes.
func invalid(attribute, reason string) error {
	return &InvalidError{Attribute: attribute, Offset: -1, Reason: reason}
}

// within puts name in front of the attribute that err blames.
func within(name string, err error) error {
	if e, ok := err.(*InvalidError); ok { //nolint:errorlint // the scanner's own errors are never wrapped
		if e.Attribute != "" {
			name += "." + e.Attribute
		}
		e.Attribute = name
	}
	return err
}
