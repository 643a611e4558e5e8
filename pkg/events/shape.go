package events

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

type shape struct {
	is       form
	enum     []string // allowed strings, empty for all
	elem     *shape   // for formList and formDictionary
	fields   []shapeField
	required uint64 // bit i is set if fields[i] is required
}

type shapeField struct {
	name  string
	shape *shape
}

type form uint8

const (
	formRaw     form = iota // any JSON
	formAny                 // any JSON whose numbers fit a float64
	formText                // a string
	formBool                // a boolean
	formInteger             // a signed integer of 64 bits
	formNatural             // an unsigned integer of 64 bits
	formNumber              // a number that fits a float64
	formBytes               // base64
	formTime                // RFC 3339
	formList
	formDictionary
	formRecord
)

var enums = map[reflect.Type][]string{
	reflect.TypeFor[Verdict]():    {string(VerdictDeny), string(VerdictAsk), string(VerdictAllow), string(VerdictNone)},
	reflect.TypeFor[StepStatus](): {string(StepPending), string(StepRunning), string(StepCompleted), string(StepFailed), string(StepSkipped), string(StepInterrupted), string(StepUnknown)},
	reflect.TypeFor[ToolStatus](): {string(ToolSuccess), string(ToolError), string(ToolDenied), string(ToolInterrupted)},
	reflect.TypeFor[DeniedBy]():   {string(DeniedByUser), string(DeniedByPermissions), string(DeniedBySandbox), string(DeniedByHook)},
	reflect.TypeFor[RunStatus]():  {string(RunCompleted), string(RunFailed), string(RunInterrupted), string(RunUnknown)},
}

type lazyShape struct {
	once    sync.Once // guards shape
	shape   *shape
	payload func() any
}

var shapes = sync.OnceValue(func() map[Kind]*lazyShape {
	list, m := make([]lazyShape, len(registry)), make(map[Kind]*lazyShape, len(registry))
	for i, r := range registry {
		list[i].payload = r.payload
		m[r.kind] = &list[i]
	}
	return m
})

func shapeOfKind(k Kind) *shape {
	l := shapes()[k]
	if l == nil {
		return nil
	}
	l.once.Do(func() { l.shape = shapeOf(reflect.TypeOf(l.payload()).Elem()) })
	return l.shape
}

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

func hasRequired(t reflect.Type) bool {
	_, payload := t.FieldByName("Common")
	return payload || t == reflect.TypeFor[BlobRef]()
}

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

// Like encoding/json, field prefers the exact name and otherwise ignores case.
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
