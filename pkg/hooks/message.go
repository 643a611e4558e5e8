package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func historyRules[M any]() transformRules[NoSubject, []M] {
	return transformRules[NoSubject, []M]{
		check: checkHistory[M],
		same:  func(a, b []M) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) },
		payload: func(_ NoSubject, before []M, out *Transformed[[]M]) any {
			return events.HistoryData{
				Before: len(before), BeforeSHA256: digestOf(before),
				After: len(out.Value), AfterSHA256: digestOf(out.Value), Outcome: transformedOf(out),
			}
		},
		read: func(d Document) (NoSubject, []M, error) {
			h, err := payloadAs[history[M]](d)
			return NoSubject{}, h.Messages, err
		},
		write: func(_ NoSubject, v []M, d *Document) (err error) {
			d.Payload, err = Marshal(history[M]{v})
			return err
		},
		reply: func(now []M, r *Reply) (v []M, err error) {
			if r.Patch == "" {
				return now, nil
			}
			err = r.Patch.Decode(&v)
			return v, err
		},
		show: func(v []M, to *DocumentOutcome) (err error) {
			to.Value, err = Marshal(v)
			return err
		},
		asked: func(d Document) JSON {
			h, err := payloadAs[struct {
				Messages JSON `json:"messages"`
			}](d)
			if err != nil {
				return ""
			}
			return h.Messages
		},
	}
}

func checkHistory[M any](v []M) error {
	if _, err := Marshal(v); err != nil {
		return ErrBadOutput
	}
	return nil
}

type history[M any] struct {
	Messages []M `json:"messages"`
}

func digestOf(v any) string {
	text, err := Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var messageCreateRules = transformRules[NoSubject, JSON]{
	check: checkObject,
	same:  sameJSON,
	payload: func(_ NoSubject, _ JSON, out *Transformed[JSON]) any {
		data := messagePayload(out.Value, transformedOf(out))
		if out.Prevented {
			data.Content, data.Raw = nil, nil
		}
		return data
	},
	read:  func(d Document) (NoSubject, JSON, error) { return NoSubject{}, d.Payload, nil },
	write: func(_ NoSubject, v JSON, d *Document) error { d.Payload = v; return nil },
	reply: replyJSON,
	show:  showJSON,
}

var messageUpdateRules = transformRules[MessageID, JSON]{
	check: checkObject,
	same:  sameJSON,
	payload: func(id MessageID, _ JSON, out *Transformed[JSON]) any {
		return events.MessageData{Message: string(id), Updates: recordable(out), Outcome: transformedOf(out)}
	},
	read: func(d Document) (MessageID, JSON, error) {
		u, err := payloadAs[messageUpdate](d)
		return u.ID, u.Updates, err
	},
	write: func(id MessageID, v JSON, d *Document) (err error) {
		d.Payload, err = Marshal(messageUpdate{id, v})
		return err
	},
	reply: replyJSON,
	show:  showJSON,
}

// recordable returns nothing if a hook failed and blocks, because the hook may be the one that removes
// secrets from the value.
func recordable(out *Transformed[JSON]) json.RawMessage {
	if out.Prevented {
		return nil
	}
	return rawOf(out.Value)
}

func messagePayload(message JSON, outcome events.Outcome) events.MessageData {
	data := events.MessageData{Outcome: outcome}
	data.Message, _ = message.Text("id")
	data.Role, _ = message.Text("role")
	var members map[string]json.RawMessage
	if message.Decode(&members) == nil {
		data.Content = members["content"]
		delete(members, "id")
		delete(members, "role")
		delete(members, "content")
	}
	if len(members) > 0 || data.Content == nil {
		data.Raw = rawOf(message)
	}
	return data
}

type messageUpdate struct {
	ID      MessageID `json:"message_id"`
	Updates JSON      `json:"updates"`
}

var stepOutputRules = transformRules[StepState, JSON]{
	check: checkObject,
	same:  sameJSON,
	payload: func(s StepState, _ JSON, out *Transformed[JSON]) any {
		return events.StepOutputData{State: rawOf(s.State), Output: recordable(out), Outcome: transformedOf(out)}
	},
	read: func(d Document) (StepState, JSON, error) {
		o, err := payloadAs[stepOutput](d)
		return StepState{Agent: o.Agent, State: o.State}, o.Output, err
	},
	write: func(s StepState, v JSON, d *Document) (err error) {
		d.Payload, err = Marshal(stepOutput{s.Agent, s.State, v})
		return err
	},
	reply: replyJSON,
	show:  showJSON,
}

type stepOutput struct {
	Agent  string `json:"agent,omitempty"`
	State  JSON   `json:"state,omitempty"`
	Output JSON   `json:"output,omitempty"`
}

// NoSubject is the type S of a [TransformPoint] whose value belongs to nothing else.
type NoSubject struct{}

// MessageID is the id of the message that a [MessageUpdate] changes.
type MessageID string
