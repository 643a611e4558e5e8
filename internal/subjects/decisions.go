package subjects

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DecisionQueue is the queue group of all decision services.
const DecisionQueue = "hooktrail"

// DecisionTimeout is the header with a request's timeout in milliseconds.
const DecisionTimeout = "Hooktrail-Timeout-Ms"

// Headers of an error response. They contain the reason and an HTTP status code.
const (
	ServiceError     = "Nats-Service-Error"
	ServiceErrorCode = "Nats-Service-Error-Code"
)

// Decisions returns the subject of a tenant's requests for decisions.
func (s Space) Decisions(tenant string) (string, error) {
	return subject(s, "decide", part{"tenant id", tenant})
}

// AllDecisions returns the filter for all requests for decisions.
func (s Space) AllDecisions() string { return s.prefix() + "decide.*" }

// DecisionTenant returns the tenant in the subject of a request for a decision.
func (s Space) DecisionTenant(subject string) (string, error) {
	token, ok := strings.CutPrefix(subject, s.prefix()+"decide.")
	if !ok {
		return "", fmt.Errorf("subject %q: not a subject of decisions", clip(subject))
	}
	tenant, err := ParseToken(token)
	if err != nil {
		return "", fmt.Errorf("subject %q: %w", clip(subject), err)
	}
	return tenant, nil
}

// CheckReply rejects a reply subject of the server or of this space. Clients could otherwise
// publish there through the answering service.
func (s Space) CheckReply(subject string) error {
	if strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, s.prefix()) {
		return fmt.Errorf("%w: %q is not a reply subject", ErrSubject, clip(subject))
	}
	return nil
}

// SetTimeout sets the timeout header of a request.
func SetTimeout(header map[string][]string, d time.Duration) {
	header[DecisionTimeout] = []string{strconv.FormatInt(max(d.Milliseconds(), 1), 10)}
}

// Timeout returns the timeout of a request, at most limit. Without a valid header, it returns
// limit.
func Timeout(header map[string][]string, limit time.Duration) time.Duration {
	values := header[DecisionTimeout]
	if len(values) != 1 {
		return limit
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || ms <= 0 || ms > limit.Milliseconds() {
		return limit
	}
	return time.Duration(ms) * time.Millisecond
}

// ErrSubject means that a subject cannot be used for a request or a reply.
var ErrSubject = errors.New("invalid subject")

// CheckRequest rejects a subject that is invalid or belongs to the server.
func CheckRequest(subject string) error {
	if len(subject) > 1024 || strings.ContainsAny(subject, " \t\r\n*>\x00") {
		return fmt.Errorf("%w: want tokens separated by dots, without wildcards and spaces", ErrSubject)
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" {
			return fmt.Errorf("%w: empty token; want tokens separated by dots", ErrSubject)
		}
	}
	if strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, "_INBOX.") {
		return fmt.Errorf("%w: it belongs to the server", ErrSubject)
	}
	return nil
}
