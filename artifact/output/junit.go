package output

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/report"
)

// junit is JUnit XML as both strict dialects take it: jenkinsci/xunit-plugin's
// junit-10.xsd and windyroad's JUnit.xsd. A model is a suite, a rule that found something a test.
type junit struct {
	w    *bufio.Writer
	o    Options
	n    int
	host string
	err  error
}

func newJUnit(w *bufio.Writer, o Options) Writer {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	fmt.Fprint(w, xml.Header+"<testsuites>\n")
	return &junit{w: w, o: o, host: host}
}

type junitSuite struct {
	XMLName    xml.Name  `xml:"testsuite"`
	Name       string    `xml:"name,attr"`
	Package    string    `xml:"package,attr"`
	ID         int       `xml:"id,attr"`
	Tests      int       `xml:"tests,attr"`
	Failures   int       `xml:"failures,attr"`
	Errors     int       `xml:"errors,attr"`
	Skipped    int       `xml:"skipped,attr"`
	Time       string    `xml:"time,attr"`
	Timestamp  string    `xml:"timestamp,attr"`
	Host       string    `xml:"hostname,attr"`
	Properties *struct{} `xml:"properties"`
	Cases      []junitCase
	Out        string `xml:"system-out"`
	Err        string `xml:"system-err"`
}

type junitCase struct {
	XMLName xml.Name    `xml:"testcase"`
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// File writes a suite: a failure for every error, an error for a file that cannot be read,
// warnings and notes as its output, and a test that passes where nothing failed, or dashboards
// would not show the file.
func (j *junit) File(c report.Checked) {
	name := report.Printable(c.Path)
	s := junitSuite{Name: name, Package: name, ID: j.n, Time: "0.000", Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05"), Host: j.host, Properties: &struct{}{}}
	j.n++
	var said []string
	seen := map[string]int{}
	for _, f := range c.Findings {
		says := message(f)
		if !f.Counts() || f.Level != report.LevelError {
			said = append(said, fmt.Sprintf("%s: %s [%s]%s", f.Level, says, f.Rule, whyNot(f)))
			continue
		}
		title := fmt.Sprintf("%s: %s", name, f.Rule)
		if seen[title]++; seen[title] > 1 {
			title = fmt.Sprintf("%s (%d)", title, seen[title])
		}
		fault := &junitFault{Message: says, Type: f.Rule, Text: j.o.advice(f)}
		test := junitCase{Name: title, Class: name, Time: "0.000"}
		if r, _ := rules.Find(f.Rule); c.Facts == nil && r.Level == report.LevelError {
			test.Error = fault
			s.Errors++
		} else {
			test.Failure = fault
			s.Failures++
		}
		s.Cases = append(s.Cases, test)
	}
	if len(s.Cases) == 0 {
		s.Cases = []junitCase{{Name: name + ": checked", Class: name, Time: "0.000"}}
	}
	s.Tests, s.Out = len(s.Cases), strings.Join(said, "\n")
	b, err := xml.MarshalIndent(s, " ", " ")
	if err != nil {
		j.err = err
		return
	}
	j.w.Write(append(b, '\n'))
}

// Close ends the list of suites.
func (j *junit) Close(Summary) error {
	if j.err != nil {
		return j.err
	}
	fmt.Fprint(j.w, "</testsuites>\n")
	return j.w.Flush()
}
