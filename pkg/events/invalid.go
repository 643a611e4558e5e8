package events

import "strconv"

// InvalidError tells why an event or manifest is invalid, without values from the input.
type InvalidError struct {
	Attribute string // such as "time" or "data.step_status", or empty
	Offset    int    // byte position in the input, negative if there is no input
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

func invalid(attribute, reason string) error {
	return &InvalidError{Attribute: attribute, Offset: -1, Reason: reason}
}

func within(name string, err error) error {
	if e, ok := err.(*InvalidError); ok { //nolint:errorlint // the scanner's own errors are never wrapped
		if e.Attribute != "" {
			name += "." + e.Attribute
		}
		e.Attribute = name
	}
	return err
}
