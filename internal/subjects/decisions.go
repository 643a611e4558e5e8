package subjects

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DecisionQueue is the queue group of the decision services: one of them answers.
const DecisionQueue = "hooktrail"

// DecisionTimeout is the header that says how many milliseconds who asks for a
// decision waits for it.
const DecisionTimeout = "Hooktrail-Timeout-Ms"

// The headers of an answer that is none: what the service says is wrong with the
// request, and a status as HTTP has them.
const (
	ServiceError     = "Nats-Service-Error"
	ServiceErrorCode = "Nats-Service-Error-Code"
)

// Decisions returns the subject on which decisions for a tenant are asked for.
func (s Space) Decisions(tenant string) (string, error) {
	t, err := Token(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	return s.prefix() + "decide." + t, nil
}

// AllDecisions is the filter of every request for a decision.
func (s Space) AllDecisions() string { return s.prefix() + "decide.*" }

// DecisionTenant returns the tenant that a request is for.
func (s Space) DecisionTenant(subject string) (string, error) {
	token, ok := strings.CutPrefix(subject, s.prefix()+"decide.")
	if !ok {
		return "", fmt.Errorf("subject %q: not one of decisions", clip(subject))
	}
	tenant, err := ParseToken(token)
	if err != nil {
		return "", fmt.Errorf("subject %q: %w", clip(subject), err)
	}
	return tenant, nil
}

// CheckReply refuses to answer on subjects that mean something to the server or
// to us: who asks would have us write there, with our rights.
func (s Space) CheckReply(subject string) error {
	if strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, s.prefix()) {
		return fmt.Errorf("%w: %q is no place for an answer", ErrSubject, clip(subject))
	}
	return nil
}

// SetTimeout says in the headers of a request how long it is waited for. A
// header has one value or none.
func SetTimeout(header map[string][]string, d time.Duration) {
	header[DecisionTimeout] = []string{strconv.FormatInt(max(d.Milliseconds(), 1), 10)}
}

// Timeout returns how long the sender of a request waits for the answer, at most
// most. What is no positive number of milliseconds counts as most.
func Timeout(header map[string][]string, most time.Duration) time.Duration {
	values := header[DecisionTimeout]
	if len(values) != 1 {
		return most
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || ms <= 0 || ms > most.Milliseconds() {
		return most
	}
	return time.Duration(ms) * time.Millisecond
}

// ErrSubject is wrapped by the refusal of a subject that nobody can be asked on.
var ErrSubject = errors.New("not a subject that can be asked")

// CheckRequest refuses subjects that no request can be sent to: those with
// wildcards, empty tokens or white space, and the server's own.
func CheckRequest(subject string) error {
	if len(subject) > 1024 || strings.ContainsAny(subject, " \t\r\n*>\x00") {
		return fmt.Errorf("%w: want tokens with dots in between, without wildcards and spaces", ErrSubject)
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" {
			return fmt.Errorf("%w: empty token; want tokens with dots in between", ErrSubject)
		}
	}
	if strings.HasPrefix(subject, "$") || strings.HasPrefix(subject, "_INBOX.") {
		return fmt.Errorf("%w: it is the server's own", ErrSubject)
	}
	return nil
}
