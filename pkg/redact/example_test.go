package redact_test

import (
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

var _ publish.Redactor = (*redact.Redactor)(nil)

func ExampleRedactor_Text() {
	r, err := redact.New(redact.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, spans := r.Text("mail ann@example.com, pay with 4111 1111 1111 1111")
	fmt.Println(text)
	fmt.Println(spans)
	// Output:
	// mail [EMAIL_REDACTED], pay with [CARD_REDACTED]
	// [{email 5 20} {card 31 50}]
}

func ExampleNew() {
	r, err := redact.New(redact.Options{Without: []string{redact.IP, "generic-api-key"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := events.Event{Data: []byte(`{"tool":"Bash","args":{"to":"ann@example.com","host":"203.0.113.7"}}`)}
	if err := r.Redact(&e); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(e.Data))
	// Output:
	// {"tool":"Bash","args":{"to":"[EMAIL_REDACTED]","host":"203.0.113.7"},"redacted":[{"field":"/args/to","rule":"email","start":0,"end":15}]}
}
