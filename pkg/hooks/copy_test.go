package hooks

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestCopier_IsNilWhereAnAssignmentCopies(t *testing.T) {
	if copier[ToolCall]() != nil || copier[JSON]() != nil || copier[Failure]() != nil || copier[Session]() != nil {
		t.Error("what cannot be changed is copied")
	}
	if copier[[]Message]() == nil || copier[PromptPatch]() == nil || copier[ToolOutcome]() == nil || copier[events.RunFinishedData]() == nil {
		t.Error("what can be changed is not copied")
	}
}

type odd struct {
	Any    any
	Map    map[string][]int
	Array  [2]*int
	Raw    json.RawMessage
	Time   time.Time
	Nil    *odd
	Err    error
	Struct struct{ Inner []string }
	hidden []int
}

func TestCopier_SharesNothing(t *testing.T) {
	n := 1
	v := odd{
		Any: map[string]any{"list": []any{1, "two", map[string]any{"three": 3.0}}}, Map: map[string][]int{"a": {1}},
		Array: [2]*int{&n}, Raw: json.RawMessage(`{}`), Time: time.Now(), Err: errTest, hidden: []int{1},
	}
	v.Struct.Inner = []string{"x"}
	c := copier[odd]()(v)
	equal := cmp.Options{cmp.AllowUnexported(odd{}), cmp.Comparer(func(a, b error) bool { return a == b })} //nolint:errorlint // the very same
	if diff := cmp.Diff(v, c, equal); diff != "" {
		t.Fatalf("copy (-want +got):\n%s", diff)
	}
	m, _ := c.Any.(map[string]any)
	list, _ := m["list"].([]any)
	list[0], c.Map["a"][0], *c.Array[0], c.Raw[0], c.Struct.Inner[0] = 9, 9, 9, '[', "y"
	m["new"] = true
	was, _ := v.Any.(map[string]any)
	wasList, _ := was["list"].([]any)
	if wasList[0] != 1 || len(was) != 1 || v.Map["a"][0] != 1 || n != 1 || v.Raw[0] != '{' || v.Struct.Inner[0] != "x" {
		t.Errorf("the original is now %+v", v)
	}
}

func TestCopier_EndsInACircle(t *testing.T) {
	m := map[string]any{}
	m["m"] = m
	c := copier[map[string]any]()(m)
	depth := 0
	for next, ok := c, true; ok && next != nil; next, ok = next["m"].(map[string]any) {
		depth++
	}
	if depth < 100 || depth > maxDepth {
		t.Errorf("%d deep", depth)
	}
}

func TestCopier_OfAnyJSON(t *testing.T) {
	var value *rapid.Generator[any]
	value = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return rapid.MapOfN(rapid.String(), rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "object")
		case 1:
			return rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "array")
		case 2:
			return rapid.Float64().Draw(t, "number")
		case 3:
			return nil
		}
		return rapid.String().Draw(t, "text")
	})
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		if c := copier[any]()(v); !reflect.DeepEqual(v, c) {
			t.Errorf("copy of %v is %v", v, c)
		}
	})
}
