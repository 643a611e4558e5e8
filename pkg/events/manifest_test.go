package events

import (
	"crypto/ed25519"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sent returns a manifest of two events. The event between them was shed.
func sent() Manifest {
	return Manifest{
		Version: 1, Tenant: "acme", Producer: "coder/e4", First: 5, Last: 7, Count: 2,
		Missing: []Range{{First: 6, Last: 6, Reason: "shed"}},
		Prev:    HashOf([]byte("before")).String(), Root: BatchRoot([]Hash{{1}, {2}}).String(),
	}
}

const sentBytes = `{"v":1,"tenant":"acme","producer":"coder/e4","first":5,"last":7,"count":2,` +
	`"missing":[{"first":6,"last":6,"reason":"shed"}],` +
	`"prev":"6db7d803e74f1ffa7d8f5adc0bf95b3e15bf4c8373fffadf546227cc6c6742cb",` +
	`"root":"a0a7706d19dcf90768b87e1330219f25591e960997e8ac753f1fa7a992d061c4"}`

// signed returns the manifest of sent with a signature.
func signed() Manifest {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m, err := sent().Sign(sentKey, func(text []byte) ([]byte, error) { return ed25519.Sign(private, text), nil })
	if err != nil {
		panic(err)
	}
	return m
}

const sentKey = "UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5"

const signedBytes = `{"v":2,"tenant":"acme","producer":"coder/e4","first":5,"last":7,"count":2,"missing":[{"first":6,"last":6,"reason":"shed"}],"prev":"6db7d803e74f1ffa7d8f5adc0bf95b3e15bf4c8373fffadf546227cc6c6742cb","root":"a0a7706d19dcf90768b87e1330219f25591e960997e8ac753f1fa7a992d061c4","key":"UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5","sig":"VnK1jGjpPpMLhEM5DW8b8LAsIGqAl2V+axZdSXA2tuiLFzMSQ2fzv9IWmm3gGc9eBOAgTj8G8h64aqdPpdD/CA=="}`

// beat returns a heartbeat after sent.
func beat(state State, interval uint64) Manifest {
	m := sent()
	m.First, m.Count, m.Missing, m.Prev, m.Root = 8, 0, nil, HashOf(sent().Encode()).String(), BatchRoot(nil).String()
	m.State, m.Interval, m.Beat = state, interval, 1
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m, err := m.Sign(sentKey, func(text []byte) ([]byte, error) { return ed25519.Sign(private, text), nil })
	if err != nil {
		panic(err)
	}
	return m
}

func TestManifest_State(t *testing.T) {
	open := `"root":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","state":"open","interval":600,"beat":1,"key":`
	closed := `"root":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","state":"closed","beat":1,"key":`
	for want, m := range map[string]Manifest{open: beat(StateOpen, 600), closed: beat(StateClosed, 0)} {
		if !strings.Contains(string(m.Encode()), want) {
			t.Errorf("got %s, want %s in it", m.Encode(), want)
		}
		got, err := DecodeManifest(m.Encode())
		if err != nil || m.Validate() != nil {
			t.Fatalf("got %v, %v", err, m.Validate())
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("decode (-want +got):\n%s", diff)
		}
	}
}

func TestManifest_Sign(t *testing.T) {
	m := signed()
	if diff := cmp.Diff(signedBytes, string(m.Encode())); diff != "" {
		t.Errorf("encode (-want +got):\n%s", diff)
	}
	text, _, _ := strings.Cut(signedBytes, `,"sig":`)
	if diff := cmp.Diff("hooktrail/manifest/v2\n"+text+"}", string(m.SignedText())); diff != "" {
		t.Errorf("signed text (-want +got):\n%s", diff)
	}
	got, err := DecodeManifest([]byte(signedBytes))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
	public, _ := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	if !ed25519.Verify(public, got.SignedText(), got.Signature()) {
		t.Error("the signature does not verify")
	}
}

func TestManifest_Encode(t *testing.T) {
	m := sent()
	if diff := cmp.Diff(sentBytes, string(m.Encode())); diff != "" {
		t.Errorf("encode (-want +got):\n%s", diff)
	}
	b, err := json.Marshal(m)
	if err != nil || string(b) != sentBytes {
		t.Errorf("encoding/json gives %s, %v", b, err)
	}
	got, err := DecodeManifest([]byte(sentBytes))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
	first := m
	first.Prev, first.Missing, first.Count = "", nil, 3
	if strings.Contains(string(first.Encode()), "prev") || strings.Contains(string(first.Encode()), "missing") {
		t.Errorf("absent members are written: %s", first.Encode())
	}
}

func TestDecodeManifest_Refuses(t *testing.T) {
	for _, tc := range []struct {
		name, in, attribute, reason string
		offset                      int
	}{
		{"Nothing", ``, "", "unexpected end", 0},
		{"Unknown", `{"v":1,"x":1}`, `"x"`, "unknown", 11},
		{"Twice", `{"v":1,"v":1}`, "v", "occurs twice", 11},
		{"OtherVersion", `{"v":3}`, "v", "only versions 1 and 2", 7},
		{"HugeVersion", `{"v":18446744073709551615}`, "v", "only versions 1 and 2", 26},
		{"NoVersion", `{}`, "v", "only versions 1 and 2", 2},
		{"KeyInVersion1", `{"v":1,"key":"U"}`, "v", "no key", 17},
		{"StateInVersion1", `{"v":1,"state":"closed"}`, "v", "no state", 24},
		{"EmptyState", `{"v":2,"state":""}`, "state", "empty", 17},
		{"ZeroBeat", strings.Replace(string(beat(StateClosed, 0).Encode()), `"beat":1`, `"beat":0`, 1), "", "not in canonical form", 0},
		{"EmptyKey", `{"v":1,"key":""}`, "key", "empty", 15},
		{"EmptySignature", `{"v":2,"sig":""}`, "sig", "empty", 15},
		{"NotCanonical", strings.Replace(signedBytes, `"first":5`, `"first": 5`, 1), "", "not in canonical form", 0},
		{"SpaceBehind", signedBytes + "\n", "", "not in canonical form", 0},
		{"Escaped", strings.Replace(signedBytes, `coder/e4`, `coder\u002fe4`, 1), "", "not in canonical form", 0},
		{"Fraction", `{"v":1,"first":1.5}`, "first", "not a whole number", 15},
		{"Negative", `{"v":1,"first":-1}`, "first", "not a whole number", 15},
		{"String", `{"v":1,"last":"1"}`, "last", "want a value", 14},
		{"NullRoot", `{"v":1,"root":null}`, "root", "want a string", 14},
		{"MissingNumber", `{"v":1,"missing":[1]}`, "missing", "want '{'", 18},
		{"MissingUnknown", `{"v":1,"missing":[{"x":1}]}`, `missing."x"`, "unknown", 23},
		{"Trailing", `{"v":1} x`, "", "want the end", 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := DecodeManifest([]byte(tc.in))
			wantInvalid(t, err, tc.attribute, tc.reason, tc.offset)
		})
	}
	_, err := DecodeManifest(make([]byte, MaxBytes+1))
	wantInvalid(t, err, "", "larger than 1000000 bytes", 0)
}

func TestManifest_Validate(t *testing.T) {
	for _, tc := range []struct {
		name              string
		change            func(m *Manifest)
		attribute, reason string
	}{
		{"Fine", func(*Manifest) {}, "", ""},
		{"First", func(m *Manifest) { m.Prev, m.First, m.Count = "", 1, 6 }, "", ""},
		{"NothingSent", func(m *Manifest) { m.Missing = []Range{{First: 5, Last: 7}}; m.Count = 0 }, "", ""},
		{"TwoRanges", func(m *Manifest) { m.Missing = []Range{{First: 5, Last: 5}, {First: 7, Last: 7}}; m.Count = 1 }, "", ""},
		{"AllThereIs", func(m *Manifest) { m.First, m.Last, m.Count, m.Missing = 1, math.MaxUint64, math.MaxUint64, nil }, "", ""},
		{"Version", func(m *Manifest) { m.Version = 3 }, "v", "only versions 1 and 2"},
		{"Signed", func(m *Manifest) { *m = signed() }, "", ""},
		{"SignedVersion1", func(m *Manifest) { *m = signed(); m.Version = 1 }, "v", "no key"},
		{"NoKey", func(m *Manifest) { *m = signed(); m.Key = "" }, "key", "nkey"},
		{"AccountKey", func(m *Manifest) { *m = signed(); m.Key = "A" + m.Key[1:] }, "key", "nkey"},
		{"LowerCaseKey", func(m *Manifest) { *m = signed(); m.Key = "U" + strings.ToLower(m.Key[1:]) }, "key", "nkey"},
		{"NoSignature", func(m *Manifest) { *m = signed(); m.Sig = "" }, "sig", "not an Ed25519 signature"},
		{"ShortSignature", func(m *Manifest) { *m = signed(); m.Sig = m.Sig[4:] }, "sig", "not an Ed25519 signature"},
		{"SignatureWithSlack", func(m *Manifest) { *m = signed(); m.Sig = m.Sig[:85] + "R==" }, "sig", "not an Ed25519 signature"},
		{"Beat", func(m *Manifest) { *m = beat(StateOpen, 600) }, "", ""},
		{"BeatBeforeTheFirst", func(m *Manifest) { *m = beat(StateOpen, 600); m.First, m.Last = 1, 0 }, "last", "before first"},
		{"BeatWithNumbers", func(m *Manifest) { *m = beat(StateOpen, 600); m.Last, m.Count = 8, 1 }, "beat", "lists no number"},
		{"BeatWithoutState", func(m *Manifest) { *m = beat("", 0) }, "beat", "has a state"},
		{"OtherState", func(m *Manifest) { *m = beat("asleep", 0) }, "state", "neither open nor closed"},
		{"OpenWithoutInterval", func(m *Manifest) { *m = beat(StateOpen, 0) }, "interval", "only an open"},
		{"ClosedWithInterval", func(m *Manifest) { *m = beat(StateClosed, 1) }, "interval", "only an open"},
		{"LongInterval", func(m *Manifest) { *m = beat(StateOpen, MaxInterval+1) }, "interval", "366 days"},
		{"StateInVersion1", func(m *Manifest) { m.State = StateClosed }, "v", "no state"},
		{"NoProducer", func(m *Manifest) { m.Producer = "" }, "producer", "missing"},
		{"TenantText", func(m *Manifest) { m.Tenant = "\xff" }, "tenant", "not valid UTF-8"},
		{"ProducerText", func(m *Manifest) { m.Producer = "a\n" }, "producer", "control character"},
		{"Zero", func(m *Manifest) { m.First = 0 }, "first", "start at 1"},
		{"Backwards", func(m *Manifest) { m.Last = 4 }, "last", "before first"},
		{"Count", func(m *Manifest) { m.Count = 3 }, "count", "leave"},
		{"MissingBefore", func(m *Manifest) { m.Missing[0].First = 4 }, "missing", "overlap"},
		{"MissingBehind", func(m *Manifest) { m.Missing[0].Last = 8 }, "missing", "overlap"},
		{"MissingBackwards", func(m *Manifest) { m.Missing[0].Last = 5 }, "missing", "overlap"},
		{"MissingOverlaps", func(m *Manifest) { m.Missing = []Range{{First: 5, Last: 6}, {First: 6, Last: 6}} }, "missing", "overlap"},
		{"MissingToTheEnd", func(m *Manifest) {
			m.Last = math.MaxUint64
			m.Missing = []Range{{First: 6, Last: math.MaxUint64}, {First: 6, Last: 6}}
		}, "missing", "overlap"},
		{"MissingReason", func(m *Manifest) { m.Missing[0].Reason = "\x00" }, "missing.reason", "control character"},
		{"Prev", func(m *Manifest) { m.Prev = "abc" }, "prev", "not 64 lower-case hex digits"},
		{"NoRoot", func(m *Manifest) { m.Root = "" }, "root", "not 64 lower-case hex digits"},
		{"UpperCaseRoot", func(m *Manifest) { m.Root = strings.ToUpper(m.Root) }, "root", "not 64 lower-case hex digits"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := sent()
			tc.change(&m)
			err := m.Validate()
			if tc.reason != "" {
				wantInvalid(t, err, tc.attribute, tc.reason, -1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
