package subjects

import "fmt"

// LoopbackInbox is the inbox prefix of clients without credentials, and of
// tenants' engines in their accounts. Services of the embedded server have
// inboxes of their own below [ServiceInbox], so that nobody else on the machine
// can listen to the replies that they get.
const (
	LoopbackInbox = "_INBOX"
	ServiceInbox  = "_HTINBOX"
)

// EventSubjects are what the stream of events stores.
func EventSubjects(s Space) []string { return []string{s.AllEvents(), s.AllChains()} }

// DeadLetterSubjects are what the stream of dead letters stores: the letters,
// and the server's own notices of messages that a consumer gave up.
func DeadLetterSubjects(s Space) []string {
	return []string{
		s.AllDeadLetters(),
		"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + s.EventStream() + ".>",
		"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." + s.EventStream() + ".>",
	}
}

// AdvisorySubjects are what the stream of alarms stores: the server's notices
// that the stream of events was changed or deleted.
func AdvisorySubjects(s Space) []string {
	return []string{
		"$JS.EVENT.ADVISORY.STREAM.UPDATED." + s.EventStream(),
		"$JS.EVENT.ADVISORY.STREAM.DELETED." + s.EventStream(),
	}
}

// Durable names the durable consumer of a service: the same for all tenants,
// and one more for each tenant that the service reads alone.
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
