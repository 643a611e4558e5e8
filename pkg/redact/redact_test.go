package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	awsKey    = "AKIA" + "Z7QWERTY2XCVBNM4" // split, so that no scanner finds it
	githubPAT = "ghp_" + "R4nd0mT0k3nV4lu3F0rT3st1ngPurp0s3sX9Zq"
)

func TestText(t *testing.T) {
	r := mustNew(t, Options{})
	for _, test := range []struct{ name, text, want string }{
		{"Nothing", "all is well", "all is well"},
		{"Empty", "", ""},
		{"AWS", "key " + awsKey + " end", "key [SECRET_REDACTED] end"},
		{"GitHub", "git clone https://x:" + githubPAT[:40] + "@github.com/a/b", "git clone https://x:[SECRET_REDACTED]@github.com/a/b"},
		{"Generic", `api_key = "9f8g7h6j5k4l3m2n1b0v"`, `api_key = "[SECRET_REDACTED]"`},
		{"Copies", "password: 9f8g7h6j5k4l3m2n1b0v\nagain 9f8g7h6j5k4l3m2n1b0v!", "password: [SECRET_REDACTED]\nagain [SECRET_REDACTED]!"},
		{"Mail", "to Ann.Lee+x@mail.example.com, now", "to [EMAIL_REDACTED], now"},
		{"MailAtTheEnd", "ann@example.com.", "[EMAIL_REDACTED]."},
		{"MailTwice", "ann@example.com bob@example.org", "[EMAIL_REDACTED] [EMAIL_REDACTED]"},
		{"GitRemote", "git@github.com:a/b.git", "git@github.com:a/b.git"},
		{"PackageVersion", "lodash@4.17.21.tgz and @scope/x@1.2.3", "lodash@4.17.21.tgz and @scope/x@1.2.3"},
		{"Card", "4111 1111 1111 1111 12/27", "[CARD_REDACTED] 12/27"},
		{"CardDashes", "5555-5555-5555-4444", "[CARD_REDACTED]"},
		{"CardTogether", "pan=378282246310005;", "pan=[CARD_REDACTED];"},
		{"CardAmex", "3782 822463 10005", "[CARD_REDACTED]"},
		{"CardWrongCheckDigit", "4111 1111 1111 1112", "4111 1111 1111 1112"},
		{"NoCardInFraction", "0.4111111111111111", "0.4111111111111111"},
		{"NoCardInID", "id_4111111111111111 4111111111111111-1a", "id_4111111111111111 4111111111111111-1a"},
		{"IBAN", "IBAN DE89 3704 0044 0532 0130 00, BIC", "IBAN [IBAN_REDACTED], BIC"},
		{"IBANTogether", "GB82WEST12345698765432", "[IBAN_REDACTED]"},
		{"IBANWrongChecksum", "GB83WEST12345698765432", "GB83WEST12345698765432"},
		{"IBANWrongLength", "DE8937040044053201300", "DE8937040044053201300"},
		{"Phone", "call +49 (0)30 1234567 now", "call [PHONE_REDACTED] now"},
		{"PhoneE164", "+14155552671", "[PHONE_REDACTED]"},
		{"PhoneUS", "(212) 555-0123, 212-555-0123, 1-800-555-0199, 1 (212) 555-0123", "[PHONE_REDACTED], [PHONE_REDACTED], [PHONE_REDACTED], [PHONE_REDACTED]"},
		{"NoPhoneInPatch", "+2024-01-02 03:04:05\n@@ -1,5 +10,6 @@", "+2024-01-02 03:04:05\n@@ -1,5 +10,6 @@"},
		{"NoPhoneInSum", "a+123456789 f(x)+123456789", "a+123456789 f(x)+123456789"},
		{"NoPhoneInUUID", "2f1b2c3d-212-555-0123", "2f1b2c3d-212-555-0123"},
		{"IP", "from 203.0.113.7:443 and 10.1.2.3/8", "from [IP_REDACTED]:443 and [IP_REDACTED]/8"},
		{"IPv6", "[2001:db8::1]:80 fe80::1%eth0", "[[IP_REDACTED]]:80 [IP_REDACTED]%eth0"},
		{"NoIP", "127.0.0.1 0.0.0.0 v1.2.3.4 1.2.3.4.5 Chrome/120.0.0.0 ::1 std::vector dead::beef 12:34:56", "127.0.0.1 0.0.0.0 v1.2.3.4 1.2.3.4.5 Chrome/120.0.0.0 ::1 std::vector dead::beef 12:34:56"},
		{"InvalidUTF8", "\xff\xfe " + awsKey + " \xff", "\xff\xfe [SECRET_REDACTED] \xff"},
		{"URL", "mysql://root:pw@db redis://:pw@h/0", "mysql://root:[SECRET_REDACTED]@db redis://:[SECRET_REDACTED]@h/0"},
		{"URLWithoutPassword", "redis://cache:6379/0 https://u@h postgres://USER:PASSWORD@HOST", "redis://cache:6379/0 https://u@h postgres://USER:PASSWORD@HOST"},
		{"Bearer", "Authorization: Bearer 8hJ2kLmN4pQrStUvWx\n", "Authorization: Bearer [SECRET_REDACTED]\n"},
		{"Password", "password=tr0ub4dor&x=1, password: ${PW}", "password=[SECRET_REDACTED]&x=1, password: ${PW}"},
		{"PasswordAfterRejected", "passwd:\tdb_password: tr0ub4dor", "passwd:\tdb_password: [SECRET_REDACTED]"},
		{"Colours", "\x1b[35mpass\x1b[0m\x1b[1mword\x1b[0m=\x1b[32mtr0ub\x1b[K4dor\x1b[0m end", "\x1b[35mpass\x1b[0m\x1b[1mword\x1b[0m=\x1b[32m[SECRET_REDACTED]\x1b[0m end"},
		{"Link", "\x1b]8;;https://a.example/\x1b\\password\x1b]8;;\a=tr0ub4dor", "\x1b]8;;https://a.example/\x1b\\password\x1b]8;;\a=[SECRET_REDACTED]"},
		{"JSON", `{"out":"A=1\npassword\u003dtr0ub4dor\nB"}`, `{"out":"A=1\npassword\u003d[SECRET_REDACTED]\nB"}`},
		{"JSONInJSON", `"{\"a\":\"{\\\"password\\\":\\\"tr0ub\\u0034dor\\\"}\"}"`, `"{\"a\":\"{\\\"password\\\":\\\"[SECRET_REDACTED]\\\"}\"}"`},
		{"ColoursInJSON", `\u001b[1mpassword\x1b[0m=\033[2mtr0ub4dor\e[0m`, `\u001b[1mpassword\x1b[0m=\033[2m[SECRET_REDACTED]\e[0m`},
		{"AllowComment", "key " + awsKey + " # gitleaks:allow", "key [SECRET_REDACTED] # gitleaks:allow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, spans := r.Text(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if (len(spans) > 0) != (got != test.text) {
				t.Errorf("got %d spans", len(spans))
			}
			if again, spans := r.Text(got); again != got || len(spans) > 0 {
				t.Errorf("again: got %q, %v", again, spans)
			}
		})
	}
}

func TestText_Spans(t *testing.T) {
	text := "ann@example.com has " + awsKey + " in ann@example.com"
	_, spans := mustNew(t, Options{}).Text(text)
	want := []Span{{"email", 0, 15}, {"aws-access-token", 20, 40}, {"email", 44, 59}}
	if diff := cmp.Diff(want, spans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestText_Concurrently(t *testing.T) {
	r := mustNew(t, Options{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 20 {
				text := fmt.Sprintf("export TOKEN=9f8g7h6j5k4l3m2n1b0v%d%d and %s by a%d@example.com", i, n, awsKey, n)
				if got, _ := r.Text(text); got != "export TOKEN=[SECRET_REDACTED] and [SECRET_REDACTED] by [EMAIL_REDACTED]" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestNew(t *testing.T) {
	text := "ann@example.com 203.0.113.7 " + awsKey
	for _, test := range []struct {
		name string
		opts Options
		want string
	}{
		{"All", Options{}, "[EMAIL_REDACTED] [IP_REDACTED] [SECRET_REDACTED]"},
		{"Only", Options{Only: []string{Email}}, "[EMAIL_REDACTED] 203.0.113.7 " + awsKey},
		{"Without", Options{Without: Personal()}, "ann@example.com 203.0.113.7 [SECRET_REDACTED]"},
		{"Both", Options{Only: []string{Email, IP}, Without: []string{Email}}, "ann@example.com [IP_REDACTED] " + awsKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := mustNew(t, test.opts).Text(text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := New(Options{Without: []string{"e-mail"}}); err == nil || !strings.Contains(err.Error(), `unknown rule "e-mail"`) {
		t.Errorf("a rule that does not exist: %v", err)
	}
}

// Most rules are searched near their keywords only.
func TestRules(t *testing.T) {
	book, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	lists, near, exact := book.allow, 0, 0
	for _, r := range slices.Concat(book.rules, book.own) {
		lists = append(lists, r.allow...)
		r.once.Do(r.compile)
		r.ofFile("")
		if r.pattern == everything || r.paths == everything {
			t.Errorf("%s: its expression cannot be compiled", r.id)
		}
		if r.group > r.pattern.NumSubexp() {
			t.Errorf("%s: the secret is in group %d, and there are %d", r.id, r.group, r.pattern.NumSubexp())
		}
		if r.near != nil {
			near++
			if r.near.lead >= 0 {
				exact++
			}
		}
	}
	for _, a := range lists {
		a.once.Do(a.compile)
		if a.pattern == nothing {
			t.Error("an expression of an allow-list cannot be compiled")
		}
	}
	t.Logf("%d rules, %d searched near their keywords, %d of them matched there", len(book.rules), near, exact)
	if len(book.rules) < 200 || near < len(book.rules)*9/10 {
		t.Errorf("%d rules, of which %d are searched near their keywords", len(book.rules), near)
	}
}

func TestReadRules_Refuses(t *testing.T) {
	const rule = "[[rules]]\nid = \"a\"\nregex = '''x'''\n"
	for name, text := range map[string]string{
		"UnknownKey":     rule + "required = \"b\"\n",
		"UnknownTable":   "[[rules.required]]\n",
		"WrongForm":      rule + "entropy = \"high\"\n",
		"NoID":           "[[rules]]\nregex = '''x'''\n",
		"TwiceTheSame":   rule + rule,
		"NoExpression":   "[[rules]]\nid = \"a\"\n",
		"BadEscape":      "title = \"a\\q\"\n",
		"Unclosed":       "title = '''a\n",
		"UnclosedList":   rule + "keywords = [\"a\"",
		"UnclosedTable":  "[[rules]\n",
		"UnknownTarget":  rule + "[[rules.allowlists]]\nregexTarget = \"file\"\nregexes = ['''x''']\n",
		"KeywordInGreek": rule + "keywords = [\"κ\"]\n",
		"KeyOnly":        "title\n",
	} {
		if _, err := readRules(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadRules_EqualsTheLibrary(t *testing.T) {
	book, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	o := newOracle(t)
	if len(book.rules) != len(o) {
		t.Errorf("got %d rules, the library has %d", len(book.rules), len(o))
	}
	sources := func(list []*regexp.Regexp) (s []string) {
		for _, re := range list {
			s = append(s, re.String())
		}
		return s
	}
	for _, r := range book.rules {
		want := o[r.id].Config.Rules[r.id]
		regex, path := "", ""
		if want.Regex != nil {
			regex = want.Regex.String()
		}
		if want.Path != nil {
			path = want.Path.String()
		}
		if r.regex != regex || r.path != path || r.entropy != want.Entropy || r.group != want.SecretGroup || len(r.allow) != len(want.Allowlists) || !cmp.Equal(append([]string{}, r.keywords...), want.Keywords) {
			t.Errorf("%s differs", r.id)
			continue
		}
		for i, a := range r.allow {
			w := want.Allowlists[i]
			if !cmp.Equal(a.regexes, sources(w.Regexes)) || a.all != (w.MatchCondition == 1) || a.elsewhere != (len(w.Paths)+len(w.Commits) > 0) || strings.TrimPrefix(a.target, targetSecret) != w.RegexTarget {
				t.Errorf("%s: allow-list %d differs", r.id, i)
			}
		}
	}
}
