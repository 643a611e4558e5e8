package events

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// shape is what the decoder of a payload type accepts, so that [Event.Validate]
// can say where data does not fit before it is stored, and no reader of the
// stream meets a payload that it cannot decode. It is derived from the Go type.
type shape struct {
	is       form
	enum     []string // the strings allowed, all when empty
	elem     *shape   // of list and dictionary
	fields   []shapeField
	required uint64 // bit i: fields[i] must be there
}

type shapeField struct {
	name  string
	shape *shape
}

// form is the form of a value.
type form uint8

const (
	formRaw     form = iota // any JSON
	formAny                 // any JSON whose numbers fit a float64
	formText                // a string
	formBool                // a boolean
	formInteger             // a whole number of 64 bits
	formNatural             // a whole number from 0 of 64 bits
	formNumber              // a number that fits a float64
	formBytes               // base64
	formTime                // RFC 3339
	formList
	formDictionary
	formRecord
)

// enums lists the values of the types that have only some.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[Verdict]():    {string(VerdictDeny), string(VerdictAsk), string(VerdictAllow), string(VerdictNone)},
	reflect.TypeFor[StepStatus](): {string(StepPending), string(StepRunning), string(StepCompleted), string(StepFailed), string(StepSkipped)},
	reflect.TypeFor[ToolStatus](): {string(ToolSuccess), string(ToolError)},
	reflect.TypeFor[AuditAction](): {
		string(AuditReplay), string(AuditExport), string(AuditProof), string(AuditCoverage), string(AuditAccess),
		string(AuditErase), string(AuditPrune), string(AuditHold), string(AuditLift), string(AuditKey),
	},
}

// shapes returns the shape of every kind's payload.
var shapes = sync.OnceValue(func() map[Kind]*shape {
	m := make(map[Kind]*shape, len(registry))
	for _, r := range registry {
		m[r.kind] = shapeOf(reflect.TypeOf(r.payload()).Elem())
	}
	return m
})

// forms are the forms of the basic types that payloads use.
var forms = map[reflect.Kind]form{
	reflect.String: formText, reflect.Bool: formBool, reflect.Int: formInteger, reflect.Int64: formInteger,
	reflect.Uint64: formNatural, reflect.Float64: formNumber,
}

func shapeOf(t reflect.Type) *shape {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &shape{is: formRaw}
	case reflect.TypeFor[[]byte]():
		return &shape{is: formBytes}
	case reflect.TypeFor[time.Time]():
		return &shape{is: formTime}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Slice, reflect.Array:
		return &shape{is: formList, elem: shapeOf(t.Elem())}
	case reflect.Map:
		return &shape{is: formDictionary, elem: shapeOf(t.Elem())}
	case reflect.Struct:
		s := &shape{is: formRecord}
		s.addFields(t)
		if !hasRequired(t) {
			s.required = 0
		}
		return s
	case reflect.Interface:
		return &shape{is: formAny}
	}
	return &shape{is: forms[t.Kind()], enum: enums[t]}
}

// hasRequired tells whether the required fields of t are insisted on: those of
// payloads, and what names a blob. Of what lies deeper, such as token counts, a
// part is better than a refusal.
func hasRequired(t reflect.Type) bool {
	_, payload := t.FieldByName("Common")
	return payload || t == reflect.TypeFor[BlobRef]()
}

// addFields adds the fields of a struct, those of embedded ones in their place.
// A field without omitempty is required.
func (s *shape) addFields(t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			s.addFields(f.Type)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options != "omitempty" {
			s.required |= 1 << len(s.fields)
		}
		s.fields = append(s.fields, shapeField{name, shapeOf(f.Type)})
	}
}

// field returns the index of the field that the decoder fills from name: the
// one of that name, else the first that differs in case only; -1 for none.
func (s *shape) field(name []byte) int {
	for i := range s.fields {
		if s.fields[i].name == string(name) {
			return i
		}
	}
	for i := range s.fields {
		if strings.EqualFold(s.fields[i].name, string(name)) {
			return i
		}
	}
	return -1
}
