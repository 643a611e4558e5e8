package ledger

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Text encodes the order as the text that is signed. It returns an error if a field is missing or
// invalid.
func (o Order) Text() (string, error) {
	if err := o.validate(); err != nil {
		return "", fmt.Errorf("%w: %w", errOrder, err)
	}
	return o.text(), nil
}

func (o Order) text() string {
	s := o.Selection
	b := []byte(orderHeader)
	for _, f := range [...]struct{ name, value string }{
		{"tenant ", o.Tenant},
		{"action ", string(o.Action)},
		{"id ", o.ID},
		{"time ", FormatTime(o.Time)},
		{"by ", o.By},
		{"reason ", o.Reason},
		{"ticket ", o.Ticket},
		{"run ", s.Run},
		{"event ", s.Event},
		{"user ", s.User},
		{"kind ", s.Kind},
		{"from ", FormatTime(s.From)},
		{"to ", FormatTime(s.To)},
		{"hold ", o.Hold},
		{"old ", o.Old},
		{"key ", o.Key},
		{"issuer ", o.Issuer},
		{"floor ", o.floorText()},
		{"approvers ", strings.Join(o.Second.Approvers, " ")},
		{"for ", joinActions(o.Second.For)},
		{"within ", secondsText(o.Second.Within)},
		{"findings ", strings.Join(o.Findings, " ")},
	} {
		b = appendField(b, f.name, f.value)
	}
	b = fmt.Appendf(b, "tree %d %s\n", o.Size, o.Root)
	return string(appendField(b, "leaves ", o.Leaves.String()))
}

func (o Order) validate() error {
	if _, err := Origin(o.Tenant); err != nil {
		return err
	}
	if o.ID == "" || o.By == "" || o.Reason == "" || o.Time.IsZero() {
		return errors.New("id, by, reason and time are required")
	}
	if _, err := path.Match(o.Selection.Kind, ""); err != nil {
		return errors.New("kind is not a pattern")
	}
	if !o.Leaves.valid(o.Size) {
		return errors.New("leaves are not ascending ranges within the tree")
	}
	if text := o.text(); !utf8.ValidString(text) {
		return errors.New("text is not UTF-8")
	}
	return o.validateAction()
}

func (o Order) validateAction() error {
	if !o.namesWhatItChanges() {
		return errors.New("only a lift has a hold, only a change of the key has an old and a new key, and only an order about an issuer has one")
	}
	if err := errors.Join(o.validateRules(), o.validateFindings()); err != nil {
		return err
	}
	switch o.Action { //nolint:exhaustive // only orders change a ledger
	case events.AuditErase:
		if o.Selection.namesSubject() {
			return errors.New("an order to erase needs a run, an event or a user")
		}
	case events.AuditPrune:
		if o.Selection.To.IsZero() {
			return errors.New("an order to prune needs the time to")
		}
	case events.AuditHold:
	case events.AuditLift, events.AuditKey, events.AuditFloor, events.AuditApprovers, events.AuditIssuer, events.AuditRevoke,
		events.AuditAcknowledge:
		if o.selectsRecords() {
			return errors.New("a lift, a rule, an order about an issuer, a change of the key or an acknowledgement selects no records")
		}
	default:
		return fmt.Errorf("action %q is not an order", o.Action)
	}
	return nil
}

func (o Order) selectsRecords() bool {
	s := o.Selection
	if o.Action == events.AuditRevoke {
		s.From = time.Time{}
	}
	return !s.IsAll() || len(o.Leaves) > 0
}

func (o Order) namesWhatItChanges() bool {
	changes := o.Action == events.AuditKey
	issuer := nkeys.IsValidPublicUserKey(o.Issuer)
	return IsIssuerOrder(o.Action) == issuer && issuer == (o.Issuer != "") &&
		(o.Action == events.AuditLift) == (o.Hold != "") && changes == (o.Key != o.Old) && changes == (o.Key != "" && o.Old != "")
}

// MaxOrderFindings is the maximum number of findings that one order can acknowledge.
const MaxOrderFindings = 1000

func (o Order) validateFindings() error {
	if (o.Action == events.AuditAcknowledge) != (len(o.Findings) > 0) || len(o.Findings) > MaxOrderFindings {
		return fmt.Errorf("an acknowledgement has up to %d findings, and no other order has any", MaxOrderFindings)
	}
	seen := make(map[string]bool, len(o.Findings))
	for _, id := range o.Findings {
		if _, err := events.ParseHash(id); err != nil || seen[id] {
			return errors.New("a finding is not an id, or is named twice")
		}
		seen[id] = true
	}
	return nil
}

// ParseOrder parses the output of [Order.Text]. Any other text is an error, even if it describes
// the same order.
func ParseOrder(text string) (Order, error) {
	rest, ok := strings.CutPrefix(text, orderHeader)
	if !ok || len(text) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: first line", errOrder)
	}
	var o Order
	for rest != "" {
		line, next, ok := strings.Cut(rest, "\n")
		name, raw, ok2 := strings.Cut(line, " ")
		if !ok || !ok2 {
			return Order{}, fmt.Errorf("%w: a line without end or value", errOrder)
		}
		value, err := unescape([]byte(raw))
		if err == nil {
			err = o.set(name, value)
		}
		if err != nil {
			return Order{}, fmt.Errorf("%w: %s: %w", errOrder, name, err)
		}
		rest = next
	}
	// Compare with the encoded order, to reject reordered fields, repeated fields and needless
	// escapes.
	if again, err := o.Text(); err != nil {
		return Order{}, err
	} else if again != text {
		return Order{}, fmt.Errorf("%w: not in canonical form", errOrder)
	}
	return o, nil
}

func (o *Order) set(name, value string) (err error) {
	texts := map[string]*string{
		"tenant": &o.Tenant, "action": (*string)(&o.Action), "id": &o.ID, "by": &o.By, "reason": &o.Reason,
		"ticket": &o.Ticket, "run": &o.Selection.Run, "event": &o.Selection.Event, "user": &o.Selection.User,
		"kind": &o.Selection.Kind, "hold": &o.Hold, "old": &o.Old, "key": &o.Key, "issuer": &o.Issuer,
	}
	times := map[string]*time.Time{"time": &o.Time, "from": &o.Selection.From, "to": &o.Selection.To}
	if to, ok := texts[name]; ok {
		*to = value
		return nil
	}
	if to, ok := times[name]; ok {
		*to, err = time.Parse(timeLayout, value)
		return err
	}
	switch name {
	case "tree":
		size, root, _ := strings.Cut(value, " ")
		if o.Size, err = parseCount(size); err == nil {
			o.Root, err = parseTreeHash(root)
		}
	case "findings":
		o.Findings = strings.Split(value, " ")
	case "leaves":
		o.Leaves, err = parseRanges(value)
	default:
		err = o.setRule(name, value)
	}
	return err
}
