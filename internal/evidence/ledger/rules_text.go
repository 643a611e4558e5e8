package ledger

import (
	"errors"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (o Order) validateRules() error {
	if o.Floor < 0 || o.Floor%time.Second != 0 || o.Floor != 0 && o.Action != events.AuditFloor {
		return errors.New("only an order for a floor has a floor, in whole seconds")
	}
	if !o.Second.IsOff() && o.Action != events.AuditApprovers {
		return errors.New("only an order for approvers has approvers")
	}
	return o.Second.Validate()
}

// Rule describes the rule that an order sets for later orders, such as "retention floor 90d". It
// returns "" for other orders.
func (o Order) Rule() string {
	switch o.Action { //nolint:exhaustive // only these set rules
	case events.AuditFloor:
		if o.Floor == 0 {
			return "no retention floor"
		}
		return "retention floor " + formatAge(o.Floor)
	case events.AuditApprovers:
		return o.Second.String()
	}
	return ""
}

// String describes the rule, with the names of the approvers instead of their keys.
func (s SecondPerson) String() string {
	if s.IsOff() {
		return "no second person"
	}
	names := make([]string, len(s.Approvers))
	for i, text := range s.Approvers {
		names[i], _, _ = strings.Cut(text, "+")
	}
	actions := strings.ReplaceAll(joinActions(s.For), " ", ", ")
	return "second person for " + actions + " (" + strings.Join(names, ", ") + ", within " + formatAge(s.Within) + ")"
}

func (o Order) floorText() string {
	if o.Action != events.AuditFloor {
		return ""
	}
	return formatSeconds(o.Floor)
}

func secondsText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return formatSeconds(d)
}

func joinActions(list []events.AuditAction) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = string(a)
	}
	return strings.Join(texts, " ")
}

func (o *Order) setRule(name, value string) (err error) {
	switch name {
	case "floor":
		o.Floor, err = parseSeconds(value)
	case "approvers":
		o.Second.Approvers = strings.Split(value, " ")
	case "for":
		for a := range strings.SplitSeq(value, " ") {
			o.Second.For = append(o.Second.For, events.AuditAction(a))
		}
	case "within":
		o.Second.Within, err = parseSeconds(value)
	default:
		err = errors.New("unknown field")
	}
	return err
}
