package events

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func foreign(members string) string {
	return `{"specversion":"1.0","id":"1","source":"/s","type":"com.example"` + members + `}`
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"Canonical", foreign(`,"data":{"a":1}`), foreign(`,"data":{"a":1}`)},
		{"OrdersKnownAttributes", `{"data":1,"type":"com.example","x":"y","salt":"s","source":"/s","id":"1","specversion":"1.0"}`, foreign(`,"salt":"s","x":"y","data":1`)},
		{"WhiteSpaceGoes", " {\n\t\"specversion\" : \"1.0\", \"id\":\"1\",\"source\":\"/s\",\"type\":\"com.example\",\"data\": [ 1,\r\n {\"a b\" : \" c \"} ] }\n", foreign(`,"data":[1,{"a b":" c "}]`)},
		{"ResolvesEscapes", foreign(`,"s\u0075bject":"\u0041\/\"\ud83c\udf0e\n"`), foreign(`,"subject":"A/\"🌎\n"`)},
		{"KeepsExtraAsItIs", foreign(`,"zone":"\u0041","alpha":true,"n":-7`), foreign(`,"zone":"\u0041","alpha":true,"n":-7`)},
		{"KeepsDataAsItIs", foreign(`,"data":{"b":1.50,"a":"\u003c\/","a":1e400}`), foreign(`,"data":{"b":1.50,"a":"\u003c\/","a":1e400}`)},
		{"KeepsNullData", foreign(`,"data":null`), foreign(`,"data":null`)},
		{"NullIsAbsent", foreign(`,"subject":null,"time":null,"sequence":null,"x":null,"data_base64":null`), foreign(``)},
		{"EmptyIsAbsent", foreign(`,"tenant":"","time":"","sequence":"","empty":""`), foreign(`,"empty":""`)},
		{"LongNames", foreign(`,"` + strings.Repeat("x", 60) + `":"y"`), foreign(`,"` + strings.Repeat("x", 60) + `":"y"`)},
		{"Binary", foreign(`,"data_base64":"aGV\u0073bG8="`), foreign(`,"data_base64":"aGVsbG8="`)},
		{"EmptyBinary", foreign(`,"data_base64":""`), foreign(`,"data_base64":""`)},
		{"TimeWithOffset", foreign(`,"time":"2018-04-05T17:31:00.5+02:00"`), foreign(`,"time":"2018-04-05T15:31:00.500000000Z"`)},
		{"HighestSequence", foreign(`,"sequence":"18446744073709551615"`), foreign(`,"sequence":"18446744073709551615"`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Decode([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(e.Encode())); diff != "" {
				t.Errorf("encode (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode_Refuses(t *testing.T) {
	head := len(foreign("")) - 1
	for _, tc := range []struct {
		name, in, attribute, reason string
		offset                      int
	}{
		{"Nothing", ``, "", "unexpected end, want '{'", 0},
		{"Array", `[]`, "", "unexpected byte '['", 0},
		{"Trailing", foreign("") + "{}", "", "want the end", head + 1},
		{"Unfinished", foreign("")[:head], "", "unexpected end", head},
		{"NoID", `{"specversion":"1.0","source":"/s","type":"t"}`, "id", "missing", 46},
		{"NoVersion", `{"id":"1","source":"/s","type":"t"}`, "specversion", "missing", 35},
		{"OldVersion", `{"specversion":"0.3","id":"1","source":"/s","type":"t"}`, "specversion", "only CloudEvents 1.0", 15},
		{"NumericID", `{"specversion":"1.0","id":1}`, "id", "want a string", 26},
		{"TwiceKnown", foreign(`,"id":"2"`), "id", "occurs twice", head + 6},
		{"TwiceNull", foreign(`,"subject":null,"subject":"s"`), "subject", "occurs twice", head + 26},
		{"TwiceEscaped", foreign(`,"x":"1","\u0078":"2"`), "x", "occurs twice", head + 18},
		{"TwiceData", foreign(`,"data":1,"data":2`), "data", "occurs twice", head + 17},
		{"DataAndBinary", foreign(`,"data":1,"data_base64":"aGVsbG8="`), "data_base64", "excluded by data", head + 24},
		{"BinaryAndData", foreign(`,"data_base64":"","data":1`), "data", "excluded by data_base64", head + 25},
		{"NotBase64", foreign(`,"data_base64":"a"`), "data_base64", "not base64", head + 15},
		{"UpperCaseName", foreign(`,"Tenant":"a"`), `"Tenant"`, "lower-case", head + 10},
		{"ObjectAttribute", foreign(`,"x":{}`), "x", "neither a string", head + 5},
		{"FractionAttribute", foreign(`,"x":1.5`), "x", "neither a string", head + 5},
		{"NumericSequence", foreign(`,"sequence":5`), "sequence", "want a string", head + 12},
		{"LeadingZero", foreign(`,"sequence":"05"`), "sequence", "not a decimal from 1", head + 12},
		{"ZeroSequence", foreign(`,"sequence":"0"`), "sequence", "not a decimal from 1", head + 12},
		{"SignedSequence", foreign(`,"sequence":"+5"`), "sequence", "not a decimal from 1", head + 12},
		{"SequenceTooLarge", foreign(`,"sequence":"18446744073709551616"`), "sequence", "not a decimal from 1", head + 12},
		{"LoneSurrogate", foreign(`,"agent":"\ud83c!"`), "agent", "lone surrogate", head + 10},
		{"LoneLowSurrogateInData", foreign(`,"data":{"a":"\udf0e"}`), "data", "lone surrogate", head + 14},
		{"InvalidUTF8", foreign(`,"agent":"` + "\xc3(" + `"`), "agent", "not valid UTF-8", head + 10},
		{"InvalidUTF8InData", foreign(`,"data":"` + "\xed\xa0\x80" + `"`), "data", "not valid UTF-8", head + 9},
		{"InvalidUTF8InName", foreign(`,"` + "\xff" + `":1`), "", "not valid UTF-8", head + 2},
		{"ControlCharacter", foreign(",\"data\":\"a\nb\""), "data", "control character", head + 10},
		{"NaN", foreign(`,"data":NaN`), "data", "want a value", head + 8},
		{"TrailingComma", foreign(`,"data":[1,]`), "data", "want a value", head + 11},
		{"LeadingZeroInData", foreign(`,"data":01`), "", "want ',' or '}'", head + 9},
		{"Comment", foreign(`/**/`), "", "unexpected byte '/'", head},
		{"TooDeep", foreign(`,"data":` + strings.Repeat("[", 600) + strings.Repeat("]", 600)), "data", "nested more than 512 deep", head + 8 + 511},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode([]byte(tc.in))
			wantInvalid(t, err, tc.attribute, tc.reason, tc.offset)
			if err != nil && !strings.HasPrefix(err.Error(), "decode event: ") {
				t.Errorf("error %q does not say the step", err)
			}
		})
	}
}

func TestDecode_Limits(t *testing.T) {
	_, err := Decode(make([]byte, MaxInputBytes+1))
	wantInvalid(t, err, "", "larger than 67108864 bytes", 0)

	var b strings.Builder
	for i := range maxExtra + 1 {
		b.WriteString(`,"x`)
		b.WriteString(strings.Repeat("y", i))
		b.WriteString(`":1`)
	}
	in := foreign(b.String())
	_, err = Decode([]byte(in))
	wantInvalid(t, err, "", "more than 128 unknown attributes", len(in)-2)
}

func TestDecode_AliasesItsInput(t *testing.T) {
	in := []byte(foreign(`,"x":"y","data":{"a":1}`))
	e, err := Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	// An append to an alias must not overwrite the bytes after it.
	_ = append(e.Data, "!!!"...)
	_ = append(e.Extra[0].Value, "!!!"...)
	if diff := cmp.Diff(string(in), string(e.Encode())); diff != "" {
		t.Errorf("encode (-want +got):\n%s", diff)
	}
}

func TestParseTime(t *testing.T) {
	for _, tc := range []struct{ name, in, want, reason string }{
		{"Zulu", "2018-04-05T17:31:00Z", "2018-04-05T17:31:00.000000000Z", ""},
		{"LowerCase", "2018-04-05t17:31:00z", "2018-04-05T17:31:00.000000000Z", ""},
		{"West", "2018-12-31T23:30:00.123456789-00:45", "2019-01-01T00:15:00.123456789Z", ""},
		{"MoreDigits", "2018-04-05T17:31:00.1234567899Z", "2018-04-05T17:31:00.123456789Z", ""},
		{"FewDigits", "2018-04-05T17:31:00.1Z", "2018-04-05T17:31:00.100000000Z", ""},
		{"LeapDay", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000000Z", ""},
		{"Last", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z", ""},
		{"First", "0001-01-01T00:00:00.000000001Z", "0001-01-01T00:00:00.000000001Z", ""},
		{"LeapSecond", "2016-12-31T23:59:60Z", "", "leap second"},
		{"NoLeapDay", "2023-02-29T00:00:00Z", "", "no such time"},
		{"Hour24", "2018-04-05T24:00:00Z", "", "no such time"},
		{"Month0", "2018-00-05T00:00:00Z", "", "no such time"},
		{"Year0", "0000-06-01T00:00:00Z", "", "outside the years"},
		{"BeforeYear1", "0001-01-01T00:00:00+01:00", "", "outside the years"},
		{"AfterYear9999", "9999-12-31T23:59:59-01:00", "", "outside the years"},
		{"ZeroTime", "0001-01-01T00:00:00Z", "", "outside the years"},
		{"Local", "2018-04-05T17:31:00", "", "not a time of RFC 3339"},
		{"LocalWithFraction", "2018-04-05T17:31:00.5", "", "the offset is wrong or missing"},
		{"Space", "2018-04-05 17:31:00Z", "", "not a time of RFC 3339"},
		{"Comma", "2018-04-05T17:31:00,5Z", "", "the offset is wrong"},
		{"EmptyFraction", "2018-04-05T17:31:00.Z", "", "not a time of RFC 3339"},
		{"OffsetTooLarge", "2018-04-05T17:31:00+24:00", "", "the offset is wrong"},
		{"Digits", "2018-04-05T1x:31:00Z", "", "not a time of RFC 3339"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, reason := parseTime(tc.in)
			if tc.reason == "" && string(appendTime(nil, got)) != tc.want {
				t.Errorf("got %s %q, want %s", got, reason, tc.want)
			}
			if !strings.Contains(reason, tc.reason) || (reason == "") != (tc.reason == "") {
				t.Errorf("got reason %q, want %q", reason, tc.reason)
			}
		})
	}
}

// The scanner accepts the same JSON as encoding/json, apart from its documented
// restrictions.
func TestScanner_AgreesWithEncodingJSON(t *testing.T) {
	for _, in := range []string{
		`0`, `-0`, `-`, `1.`, `.5`, `1e`, `1e+`, `1E-9`, `00`, `+1`, `1.5e10`, `tru`, `true`, `nul`, `null`, `falsee`, `""`, `"\x"`, `"\u12"`,
		`"\u12G4"`, `"`, `"\`, `{`, `{}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `[`, `[]`, `[,]`, `[1 2]`, `]`, ``, ` `, `{"a":{"b":[{}]}}`, "\ufeff1", "\"\t\"", "\"\x7f\"",
	} {
		s := scanner{data: []byte(in)}
		err := s.value(1)
		if s.peek(); err == nil && s.pos < len(s.data) {
			err = s.unexpected("want the end")
		}
		if valid := json.Valid([]byte(in)); valid != (err == nil) {
			t.Errorf("%q: encoding/json says %t, got %v", in, valid, err)
		}
	}
}

func TestDecode_Allocations(t *testing.T) {
	data := kilobyte().Encode()
	var e Event
	if n := testing.AllocsPerRun(100, func() { e, _ = Decode(data) }); n > 3 {
		t.Errorf("Decode allocates %v times, want 3 at most", n)
	}
	if e.ID == "" {
		t.Error("nothing was decoded")
	}
}
