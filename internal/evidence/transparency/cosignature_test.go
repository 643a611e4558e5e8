package transparency

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

const checkpointText = "hooktrail/acme\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\nextension\n"

func newWitness(tb testing.TB, name string) (note.Signer, string) {
	tb.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := cosign.NewSignerForCosignatureV1(secret)
	if err != nil {
		tb.Fatal(err)
	}
	vkey, err := cosign.VKeyToCosignatureV1(public)
	if err != nil {
		tb.Fatal(err)
	}
	return signer, vkey
}

func newLog(tb testing.TB, name string) (note.Signer, string) {
	tb.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return signer, public
}

func sign(tb testing.TB, text string, signers ...note.Signer) []byte {
	tb.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}

//guarantee:witness-fork
func TestCosigner_ReadsWhatOthersSign(t *testing.T) {
	signer, vkey := newWitness(t, "witness.example/w1")
	v, err := NewCosigner(vkey)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Truncate(time.Second)
	signed := sign(t, checkpointText, signer)
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	at, err := cosignedAt(n.Sigs[0])
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("got %v, %v, want a time from %v on", at, err, before)
	}
	raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
	if err != nil {
		t.Fatal(err)
	}
	signature := raw[keyIDBytes:]
	text := []byte(checkpointText)
	if !v.Verify(text, signature) {
		t.Error("the signature does not verify by itself")
	}
	later := bytes.Clone(signature)
	binary.BigEndian.PutUint64(later, binary.BigEndian.Uint64(later)+1)
	never := bytes.Clone(signature)
	binary.BigEndian.PutUint64(never, 0)
	for name, forged := range map[string][]byte{
		"Later": later, "Never": never, "Shorter": signature[1:], "Longer": append(bytes.Clone(signature), 0), "Empty": nil,
	} {
		if v.Verify(text, forged) {
			t.Errorf("%s: it was taken", name)
		}
	}
	if v.Verify(append(text, '\n'), signature) {
		t.Error("another text was taken")
	}
}

// RFC 3339 must be able to express the time. A clock that counts milliseconds exceeds it.
func TestCosigner_Years(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &cosigner{name: "w", key: public}
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for seconds, want := range map[int64]bool{end.Unix(): true, end.Unix() + 1: false, 1_790_000_000_000: false, math.MaxInt64: false} {
		signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", seconds, checkpointText)
		signature := append(binary.BigEndian.AppendUint64(nil, uint64(seconds)), ed25519.Sign(private, signed)...)
		if got := c.Verify([]byte(checkpointText), signature); got != want {
			t.Errorf("%d: got %v, want %v", seconds, got, want)
		}
	}
}

func TestNewCosigner_Refuses(t *testing.T) {
	_, vkey := newWitness(t, "w")
	_, logKey := newLog(t, "w")
	name, rest, _ := strings.Cut(vkey, "+")
	id, key, _ := strings.Cut(rest, "+")
	for what, text := range map[string]string{
		"Empty": "", "NoKey": name + "+" + id, "Log": logKey, "OtherName": "v+" + rest, "OtherID": name + "+00000000+" + key,
		"NotHex": name + "+" + strings.Repeat("x", 8) + "+" + key, "NotBase64": name + "+" + id + "+!", "Longer": vkey + "AAAA",
		"Space": "a b+" + rest, "ML-DSA": "w+5b1b6aa7+BgAA", "LineFeed": vkey + "\n",
	} {
		if _, err := NewCosigner(text); err == nil {
			t.Errorf("%s: it was taken", what)
		}
	}
}

// The other library parses every accepted key to the same result.
func FuzzNewCosigner(f *testing.F) {
	_, vkey := newWitness(f, "witness.example/w1")
	_, logKey := newLog(f, "log")
	f.Add(vkey)
	f.Add(logKey)
	f.Add("w+00000000+BA==")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := NewCosigner(text)
		if err != nil {
			return
		}
		other, err := cosign.NewVerifierForCosignatureV1(text)
		if err != nil {
			t.Fatalf("the other library refuses %q: %v", text, err)
		}
		if v.Name() != other.Name() || v.KeyHash() != other.KeyHash() {
			t.Errorf("got %s+%08x, want %s+%08x", v.Name(), v.KeyHash(), other.Name(), other.KeyHash())
		}
	})
}
