package subjects

import "fmt"

// LoopbackInbox and ServiceInbox are prefixes of reply subjects. Untrusted clients use
// LoopbackInbox and may not subscribe to ServiceInbox.
const (
	LoopbackInbox = "_INBOX"
	ServiceInbox  = "_HTINBOX"
)

// EventSubjects returns the subjects of the event stream.
func EventSubjects(s Space) []string { return []string{s.AllEvents(), s.AllChains()} }

// DeadLetterSubjects returns the subjects of the dead-letter stream, with those of undeliverable
// messages.
func DeadLetterSubjects(s Space) []string {
	return []string{
		s.AllDeadLetters(),
		"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + s.EventStream() + ".>",
		"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." + s.EventStream() + ".>",
	}
}

// AdvisorySubjects returns the subjects of the advisory stream.
func AdvisorySubjects(s Space) []string {
	return []string{
		"$JS.EVENT.ADVISORY.STREAM.UPDATED." + s.EventStream(),
		"$JS.EVENT.ADVISORY.STREAM.DELETED." + s.EventStream(),
	}
}

// Durable returns the name of a service's durable consumer. The consumer receives the events of
// one tenant, or of all tenants if tenant is empty.
func (s Space) Durable(consumer, tenant string) (string, error) {
	c, err := FileName(consumer)
	if err != nil || consumer == "" {
		return "", fmt.Errorf("consumer name %q: %w", consumer, ErrID)
	}
	if tenant == "" {
		return c, nil
	}
	t, err := FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	if len(c)+len(t) > 250 {
		return "", fmt.Errorf("consumer name %q: %w: too long", consumer, ErrID)
	}
	return c + "==" + t, nil
}
