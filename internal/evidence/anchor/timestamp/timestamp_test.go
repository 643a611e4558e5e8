package timestamp_test

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
)

var data = []byte("hooktrail/acme\n5\nroot\n\n— hooktrail key\n")

func client(tb testing.TB, a *timestamptest.TSA) *timestamp.Client {
	tb.Helper()
	u, err := timestamp.ParseURL(a.URL)
	if err != nil {
		tb.Fatal(err)
	}
	c := timestamp.NewClient(u)
	tb.Cleanup(c.Close)
	return c
}

func stamp(tb testing.TB, a *timestamptest.TSA) ([]byte, *timestamp.Token) {
	tb.Helper()
	der, t, err := client(tb, a).Stamp(tb.Context(), data)
	if err != nil {
		tb.Fatal(err)
	}
	return der, t
}

func TestStamp_RealAuthority(t *testing.T) {
	for name, o := range map[string]timestamptest.Options{
		"ECDSA": {}, "RSA": {RSA: true, Digest: "sha512", ESS: "sha384"}, "OldAttribute": {RSA: true, Digest: "sha384", ESS: "sha1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := timestamptest.New(t, o)
			before := time.Now().Truncate(time.Second)
			der, token := stamp(t, a)
			by, err := token.Verify(a.Pool(t))
			if err != nil || by != "CN=Test TSA,O=Example" {
				t.Errorf("got %q, %v", by, err)
			}
			if token.Time.Before(before) || token.Time.After(time.Now().Add(time.Second)) || token.Accuracy != 1500*time.Millisecond ||
				!token.Latest().Equal(token.Time.Add(token.Accuracy)) || token.Policy != "1.2.3.4.1" {
				t.Errorf("got %+v", token.Info)
			}
			if err := token.Covers(data); err != nil {
				t.Error(err)
			}
			if err := token.Covers(append(bytes.Clone(data), ' ')); err == nil {
				t.Error("it is about other data too")
			}
			checkedByOpenSSL(t, a, der)
		})
	}
}

// The documented commands extract a token for other tools.
func checkedByOpenSSL(t *testing.T, a *timestamptest.TSA, der []byte) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, timestamp.Stored{Note: data, Token: der}.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `
		sed -n 2p "$1" | base64 -d > token
		sed 1,3d "$1" > checkpoint
		openssl ts -verify -token_in -in token -data checkpoint -CAfile "$2"`, "sh", file, a.Roots)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestVerify_OtherAuthority(t *testing.T) {
	a, b := timestamptest.New(t, timestamptest.Options{}), timestamptest.New(t, timestamptest.Options{})
	_, token := stamp(t, a)
	if _, err := token.Verify(b.Pool(t)); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("got %v", err)
	}
	if _, err := token.Verify(x509.NewCertPool()); err == nil {
		t.Error("it is trusted without roots")
	}
}

// A holder of any other certificate of the CA cannot make tokens.
func TestVerify_Certificates(t *testing.T) {
	old := time.Now().Add(-48 * time.Hour)
	good := timestamptest.New(t, timestamptest.Options{})
	der, _ := stamp(t, good)
	info := timestamptest.Content(t, der)
	for _, tt := range []struct {
		name string
		o    timestamptest.Options
		more []string
		want string // empty if the token is good
	}{
		{"Good", timestamptest.Options{}, []string{"-cades"}, ""},
		{"GoodKeyID", timestamptest.Options{}, []string{"-cades", "-keyid"}, ""},
		{"GoodRSA", timestamptest.Options{RSA: true}, []string{"-cades"}, ""},
		{"GoodPSS", timestamptest.Options{RSA: true}, []string{"-cades", "-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:digest"}, ""},
		{"NotCritical", timestamptest.Options{Lax: true}, []string{"-cades"}, "for time stamping alone"},
		{"OtherPurpose", timestamptest.Options{Purposes: []asn1.ObjectIdentifier{timestamptest.CodeSigning}}, []string{"-cades"}, "for time stamping alone"},
		{
			"TwoPurposes",
			timestamptest.Options{Purposes: []asn1.ObjectIdentifier{timestamptest.TimeStamping, timestamptest.CodeSigning}},
			[]string{"-cades"},
			"for time stamping alone",
		},
		{"UnknownPurpose", timestamptest.Options{Purposes: []asn1.ObjectIdentifier{timestamptest.TimeStamping, {1, 2, 3}}}, []string{"-cades"}, "for time stamping alone"},
		{"NotForSignatures", timestamptest.Options{KeyUsage: x509.KeyUsageKeyAgreement}, []string{"-cades"}, "for signatures"},
		{"Expired", timestamptest.Options{From: old, To: old.Add(time.Hour)}, []string{"-cades"}, "at the time of the token"},
		{"NotYet", timestamptest.Options{From: time.Now().Add(time.Hour)}, []string{"-cades"}, "at the time of the token"},
		{"NoAttribute", timestamptest.Options{}, nil, "signing-certificate is missing"},
		{"NoAttributes", timestamptest.Options{}, []string{"-noattr"}, "no signed attributes"},
		{"OtherContent", timestamptest.Options{}, []string{"-cades", "-econtent_type", "1.2.3.4"}, "not a time stamp"},
		{"NoCertificate", timestamptest.Options{}, []string{"-cades", "-nocerts"}, "lacks the certificate"},
		{"TwoSigners", timestamptest.Options{}, []string{"-cades", "-signer", good.Certificate(), "-inkey", good.Key()}, "exactly one signature"},
		{"OtherCertificateToo", timestamptest.Options{Lax: true}, []string{"-cades", "-certfile", good.Certificate()}, "for time stamping alone"},
		{"SHA1", timestamptest.Options{}, []string{"-cades", "-md", "sha1"}, "only SHA-256"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := timestamptest.New(t, tt.o)
			token, err := timestamp.Parse(a.Sign(t, info, tt.more...))
			if err == nil {
				_, err = token.Verify(a.Pool(t))
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A token with a changed bit is good only if the bit is in a certificate that the check does not
// need. OpenSSL accepts such a token too.
//
//guarantee:timestamp-checked
func TestVerify_ChangedBits(t *testing.T) {
	for name, o := range map[string]timestamptest.Options{"ECDSA": {}, "RSA": {RSA: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := timestamptest.New(t, o)
			der, token := stamp(t, a)
			cas, err := os.ReadFile(a.Roots)
			if err != nil {
				t.Fatal(err)
			}
			block, _ := pem.Decode(cas)
			from := bytes.Index(der, block.Bytes)
			if from < 0 {
				t.Fatal("the token lacks the certificate of the CA")
			}
			roots, until, ignored := a.Pool(t), from+len(block.Bytes), 0
			for i := range 8 * len(der) {
				changed := bytes.Clone(der)
				changed[i/8] ^= 1 << (i % 8)
				got, err := timestamp.Parse(changed)
				if err == nil {
					_, err = got.Verify(roots)
				}
				switch {
				case err != nil:
					continue
				case i/8 < from || i/8 >= until:
					t.Errorf("byte %d, %#x instead of %#x: the token is good", i/8, changed[i/8], der[i/8])
				case !got.Time.Equal(token.Time) || got.Covers(data) != nil:
					t.Errorf("byte %d: %+v", i/8, got.Info)
				}
				if ignored++; ignored%400 == 1 {
					checkedByOpenSSL(t, a, changed)
				}
			}
			t.Logf("%d of %d changed bits make no difference", ignored, 8*len(der))
		})
	}
}

func TestStamp_WrongAnswers(t *testing.T) {
	a := timestamptest.New(t, timestamptest.Options{})
	r, err := timestamp.NewRequest(data)
	if err != nil {
		t.Fatal(err)
	}
	query, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := a.Reply(query)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(b) }
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"Replayed", write(stale), "another nonce"},
		{"Garbage", write([]byte("<html>")), "not one of a time stamp authority"},
		{"Empty", write(nil), "not one of a time stamp authority"},
		{"Refused", write([]byte{0x30, 9, 0x30, 7, 2, 1, 2, 3, 2, 5, 0x20}), "refuses: status 2, bad request"},
		{"GrantedNothing", write([]byte{0x30, 5, 0x30, 3, 2, 1, 0}), "has none"},
		{"Endless", write(make([]byte, timestamp.MaxTokenBytes+2)), "longer than"},
		{"Status", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "secret", http.StatusTeapot) }, "status 418"},
		{"Redirect", func(rw http.ResponseWriter, req *http.Request) { http.Redirect(rw, req, "/other", http.StatusFound) }, "status 302"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.Answer(tt.answer)
			_, _, err := client(t, a).Stamp(t.Context(), data)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
	a.Answer(nil)
	if _, _, err := r.Open(stale); err != nil { // the answer to this request itself
		t.Error(err)
	}
	if _, err := timestamp.NewRequest(nil); err != nil {
		t.Error(err)
	}
}

// Passwords in the address appear in no error.
func TestClient_SecretAddress(t *testing.T) {
	u, err := timestamp.ParseURL("http://user:secret@127.0.0.1:1/secret?key=secret")
	if err != nil {
		t.Fatal(err)
	}
	c := timestamp.NewClient(u)
	defer c.Close()
	if _, _, err := c.Stamp(t.Context(), data); err == nil || strings.Contains(err.Error()+c.Name(), "secret") {
		t.Errorf("got %v, %s", err, c.Name())
	}
	for _, text := range []string{"", "ftp://secret", "secret", "http://", "http://a b/secret"} {
		if _, err := timestamp.ParseURL(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := timestamp.ParseURL("https://tsa.example/tsr"); err != nil {
		t.Error(err)
	}
}

func TestStored_Files(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	if names, err := timestamp.Names(path); err != nil || len(names) > 0 {
		t.Errorf("without a folder: got %v, %v", names, err)
	}
	der, err := os.ReadFile("testdata/token.der")
	if err != nil {
		t.Fatal(err)
	}
	token, err := timestamp.Parse(der)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{1000, 7} {
		if err := timestamp.Write(path, timestamp.Stored{Note: data, Token: der}, size, token); err != nil {
			t.Fatal(err)
		}
	}
	dir := timestamp.Dir(path)
	for name, text := range map[string]string{"5.timestamp": "x", ".new-1.timestamp": "x", "notes": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := timestamp.All(path)
	if err != nil || len(all) != 3 || all[2].Err == nil || all[0].Err != nil || !bytes.Equal(all[1].Note, data) || !bytes.Equal(all[1].Token, der) {
		t.Fatalf("got %+v, %v", all, err)
	}
	if all[0].Name >= all[1].Name || !strings.HasPrefix(all[1].Name, "0000000000000001000-") {
		t.Errorf("got %s before %s", all[0].Name, all[1].Name)
	}
	for _, p := range []string{dir, filepath.Join(dir, all[0].Name)} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

func TestRoots(t *testing.T) {
	pem, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		string(pem): true, "comment\n" + string(pem) + string(pem): true, "": false, "x": false,
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n":                               false,
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n":                               false,
		string(pem) + "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n": false,
	} {
		if _, err := timestamp.Roots([]byte(text)); (err == nil) != ok {
			t.Errorf("%.40q: got %v", text, err)
		}
	}
}
