package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of linked modules anew")

// released are the executables of packages; crosscheck is built from source by who takes its licences.
var released = []string{"modelpatch", "modelpatch-remote", "modelpatch-engine"}

const crosscheck = "modelpatch-crosscheck"

// allowed are the licences that what is released may have.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// licences are phrases of licences, white space being one space.
var licences = []struct {
	name string
	text *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,? Version 2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms.*(?i:neither the name|names of its contributors)`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any purpose`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge, to any person obtaining a copy`)},
	{"MPL", regexp.MustCompile(`Mozilla Public License`)},
	{"GPL", regexp.MustCompile(`GNU (Lesser |Affero )?General Public License`)},
	{"Gorgonia-1.0", regexp.MustCompile(`Gorgonia License, Version 1\.0`)},
	{"for no commercial use", regexp.MustCompile(`(?i)commercial (profit|gain)|profit commercially|non-?commercial|not for commercial`)},
}

// licencesOf reads the licences in a module's folder; one that names its licence in the README alone has that.
func licencesOf(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []*regexp.Regexp{licence, regexp.MustCompile(`(?i)^readme`)} {
		found := map[string]bool{}
		for _, e := range entries {
			if e.IsDir() || strings.HasSuffix(e.Name(), ".go") || !form.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range named(string(text)) {
				found[name] = true
			}
		}
		if len(found) > 0 {
			return slices.Sorted(maps.Keys(found))
		}
	}
	return []string{"unknown"}
}

// named finds the licences of a text.
func named(text string) []string {
	var out []string
	text = strings.Join(strings.Fields(regexp.MustCompile(`(?m)^\s*(#|//|\*)`).ReplaceAllString(text, "")), " ")
	for _, l := range licences {
		if l.text.MatchString(text) && !(l.name == "BSD-2-Clause" && slices.Contains(out, "BSD-3-Clause")) {
			out = append(out, l.name)
		}
	}
	return out
}

// TestLicences: every module that a released executable links has a licence that is allowed, and the
// table of decision 0004 is what is linked. go test ./internal/notices -update writes it.
func TestLicences(t *testing.T) {
	rows := map[string][]string{} // executables by module
	said := map[string]string{}
	for _, executable := range append(slices.Clone(released), crosscheck) {
		modules, err := modulesOf([]string{"linux", "darwin", "windows"}, "amd64", []string{"../../cmd/" + executable})
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for path, m := range modules {
			has := licencesOf(t, m.folder)
			rows[path] = append(rows[path], "`"+executable+"`")
			said[path] = fmt.Sprintf("| %s | %s | %s |", path, m.version, strings.Join(has, ", "))
			if executable == crosscheck {
				continue
			}
			for _, licence := range has {
				if !slices.Contains(allowed, licence) {
					t.Errorf("%s links %s %s, whose licence is %s; allowed: %s", executable, path, m.version, licence, strings.Join(allowed, ", "))
				}
			}
		}
	}
	if has := said["gorgonia.org/gorgonia"]; !strings.Contains(has, "Gorgonia-1.0") {
		t.Errorf("gorgonia's licence is read as %q: the test would not see another like it", has)
	}
	var table strings.Builder
	for _, path := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&table, "%s %s |\n", said[path], strings.Join(rows[path], ", "))
	}
	const page, head = "../../docs/decisions/0004-dependencies.md", "| linked module | version | licence | in |\n|---|---|---|---|\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	now, after, ended := strings.Cut(rest, "\n\n")
	if !ok || !ended {
		t.Fatalf("%s has no table of linked modules", page)
	}
	switch {
	case now+"\n" == table.String():
	case *update:
		if err := os.WriteFile(page, []byte(before+head+strings.TrimSuffix(table.String(), "\n")+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: the table of linked modules is not what is linked (-update writes it):\n%s", page, table.String())
	}
}

// TestNamed: licences by their phrases.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby granted, free of charge, to any\n person obtaining a copy":                                                  "MIT",
		"Redistribution and use in source and binary forms, with\nor without … Neither the name of":                                       "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                                                               "BSD-2-Clause",
		"                                 Apache License\n                           Version 2.0, January 2004":                           "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a copy … for commercial profit, only after a contribution": "MIT,for no commercial use",
		"GNU Lesser General Public License":                                                                                               "GPL",
		"do what you like":                                                                                                                "",
	} {
		if got := strings.Join(named(text), ","); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
