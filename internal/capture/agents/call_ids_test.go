package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

func everyCallIDs(t *testing.T, test func(t *testing.T, callIDs agents.CallIDs)) {
	t.Helper()
	t.Run("Memory", func(t *testing.T) { test(t, agents.NewCallIDs()) })
	t.Run("Dir", func(t *testing.T) { test(t, agents.SharedCallIDs(filepath.Join(t.TempDir(), "calls"))) })
}

func TestCallIDs(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	everyCallIDs(t, func(t *testing.T, callIDs agents.CallIDs) {
		t.Helper()
		first, second := callIDs.Call(k, "b1"), callIDs.Call(k, "b2")
		if first == second || first == "" || callIDs.Call(k, "b1") != first {
			t.Errorf("calls %q and %q", first, second)
		}
		if got := []string{callIDs.Result(k, "a1", false), callIDs.Result(k, "a2", false), callIDs.Result(k, "a1", false)}; !slices.Equal(got, []string{first, second, first}) {
			t.Errorf("results of %q, want %q and %q", got, first, second)
		}
		early := callIDs.Result(k, "a3", false)
		if got := callIDs.Call(k, "b3"); got != early || got == second {
			t.Errorf("a call after its result is %q, want %q", got, early)
		}
		denied := callIDs.Call(k, "b4")
		if callIDs.IsDenied(k) {
			t.Error("nothing is denied yet")
		}
		callIDs.Denied(k, denied)
		allowed := callIDs.Call(k, "b5")
		if got := callIDs.Result(k, "a5", false); got != allowed || !callIDs.IsDenied(k) {
			t.Errorf("the result is of %q, want %q and not the denied %q", got, allowed, denied)
		}
		if unmarked := callIDs.Call(k, ""); unmarked == callIDs.Call(k, "") {
			t.Error("two calls without a mark are one")
		}
		other := agents.Key{Session: "t", Call: k.Call}
		if callIDs.Call(other, "b1") == first || callIDs.IsDenied(other) {
			t.Error("two sessions share calls")
		}
		foreign := agents.Key{Session: "s", Call: "id t"}
		callIDs.Denied(foreign, "t")
		if !callIDs.IsDenied(foreign) {
			t.Error("a denial of a call with an id is not kept")
		}
	})
}

// Every call finds its result in any order and with repetitions.
func TestCallIDs_AnyOrder(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	rapid.Check(t, func(rt *rapid.T) {
		callIDs := agents.NewCallIDs()
		n := rapid.IntRange(1, 6).Draw(rt, "calls")
		var all []int
		for i := range n {
			all = append(all, i, i, -i-1, -i-1)
		}
		calls, results := map[string]bool{}, map[string]bool{}
		for _, i := range rapid.Permutation(all).Draw(rt, "order") {
			if i >= 0 {
				calls[callIDs.Call(k, fmt.Sprint("b", i))] = true
			} else {
				results[callIDs.Result(k, fmt.Sprint("a", i), false)] = true
			}
		}
		for id := range calls {
			if !results[id] || len(calls) != n || len(results) != n {
				rt.Fatalf("%d calls, %d results, want %d of both", len(calls), len(results), n)
			}
		}
	})
}

// Concurrent calls get different ids.
func TestCallIDs_Together(t *testing.T) {
	const calls = 16
	k := agents.Key{Session: "s", Call: "Bash ls"}
	everyCallIDs(t, func(t *testing.T, callIDs agents.CallIDs) {
		t.Helper()
		ids := make([]string, calls)
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() { ids[i] = callIDs.Call(k, fmt.Sprint(i)) })
		}
		wg.Wait()
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != calls {
			t.Errorf("%d calls have %d ids", calls, n)
		}
	})
}

func TestSharedCallIDs_Processes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	k := agents.Key{Session: "s", Call: "Bash ls"}
	agents.SharedCallIDs(dir).Call(k, "b1")
	second := agents.SharedCallIDs(dir).Call(k, "b2")
	agents.SharedCallIDs(dir).Result(k, "a1", false)
	if got := agents.SharedCallIDs(dir).Result(k, "a2", false); got != second {
		t.Errorf("the second result is of %q, want %q", got, second)
	}
}

// While another process holds the file, different calls keep different ids.
func TestSharedCallIDs_Held(t *testing.T) {
	dir := t.TempDir()
	k := agents.Key{Session: "s", Call: "Bash ls"}
	callIDs := agents.SharedCallIDs(dir)
	first := callIDs.Call(k, "b1")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	lock, err := filelock.Try(files[0])
	if err != nil {
		t.Fatal(err)
	}
	second, third := callIDs.Call(k, "b2"), callIDs.Call(k, "b3")
	if again := callIDs.Call(k, "b2"); again != second || first == second || second == third || first == third {
		t.Errorf("ids %q, %q, %q, and %q for the second payload again", first, second, third, again)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// The first call of a key finds its result without a usable file.
func TestSharedCallIDs_Broken(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	t.Run("Torn", func(t *testing.T) {
		dir := t.TempDir()
		call := agents.SharedCallIDs(dir).Call(k, "b1")
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if err := os.WriteFile(files[0], []byte(`[{"c":`), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := agents.SharedCallIDs(dir).Result(k, "a1", false); got != call {
			t.Errorf("got %q, want %q", got, call)
		}
	})
	t.Run("NotAFolder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		callIDs := agents.SharedCallIDs(file)
		if call, result := callIDs.Call(k, "b1"), callIDs.Result(k, "a1", false); call != result || call == "" || callIDs.IsDenied(k) {
			t.Errorf("call %q, result of %q", call, result)
		}
	})
}

func TestSharedCallIDs_Sweeps(t *testing.T) {
	dir := t.TempDir()
	callIDs := agents.SharedCallIDs(dir)
	callIDs.Call(agents.Key{Session: "old"}, "b")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	old := filepath.Join(dir, entries[0].Name())
	before := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	callIDs.Call(agents.Key{Session: "new"}, "b")
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the folder of an old session is there: %v", err)
	}
}

func BenchmarkSharedCallIDs(b *testing.B) {
	callIDs := agents.SharedCallIDs(b.TempDir())
	for i := 0; b.Loop(); i++ {
		callIDs.Call(agents.Key{Session: "s", Call: fmt.Sprint(i)}, "b")
	}
}

// A mark holds for its session and subject. The files of earlier versions, which stored it as a denied
// call, are read.
func TestCallIDs_Marks(t *testing.T) {
	old := []byte(`[{"h":1,"d":true}]`)
	mark, dir := agents.Mark{Fact: "turn ended", Subject: "p1"}, t.TempDir()
	for name, ids := range map[string]agents.CallIDs{"memory": agents.NewCallIDs(), "folder": agents.SharedCallIDs(dir)} {
		if ids.IsMarked("s", mark) {
			t.Errorf("%s: marked before", name)
		}
		ids.Mark("s", mark)
		ids.Mark("s", mark)
		for _, other := range []agents.Mark{{Fact: "turn left", Subject: "p1"}, {Fact: "turn ended", Subject: "p2"}} {
			if !ids.IsMarked("s", mark) || ids.IsMarked("s", other) || ids.IsMarked("t", mark) {
				t.Errorf("%s: got another mark than %v", name, mark)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != string(old) {
		t.Errorf("got %s, %v, want %s", data, err, old)
	}
	key := agents.Key{Session: "old", Call: "\x00turn ended p1"}
	ids := agents.SharedCallIDs(dir)
	ids.Denied(key, "")
	if !ids.IsMarked("old", mark) {
		t.Error("the mark of an earlier version is not read")
	}
}
