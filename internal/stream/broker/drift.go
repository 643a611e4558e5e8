package broker

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

var compared = [...]string{
	"Subjects", "Retention", "Storage", "Discard", "DiscardNewPerSubject",
	"MaxBytes", "MaxMsgs", "MaxMsgsPerSubject", "MaxMsgSize", "MaxAge", "Duplicates",
	"DenyDelete", "DenyPurge", "AllowRollup", "Sealed", "NoAck",
	"Compression", "AllowAtomicPublish", "AllowDirect",
	"Mirror", "Sources", "SubjectTransform", "RePublish",
	"AllowMsgTTL", "SubjectDeleteMarkerTTL", "AllowMsgCounter", "PersistMode",
}

func compare(want, got jetstream.StreamConfig) []string {
	want.Subjects, got.Subjects = slices.Sorted(slices.Values(want.Subjects)), slices.Sorted(slices.Values(got.Subjects))
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	var drift []string
	for _, name := range compared {
		a, b := w.FieldByName(name).Interface(), g.FieldByName(name).Interface()
		if !reflect.DeepEqual(a, b) {
			drift = append(drift, fmt.Sprintf("%s %s: want %s, got %s", want.Name, name, show(a), show(b)))
		}
	}
	return drift
}

func show(v any) string {
	if s, ok := v.([]string); ok {
		return strings.Join(s, " ")
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return "none"
		}
		v = r.Elem().Interface()
	}
	return fmt.Sprint(v)
}
