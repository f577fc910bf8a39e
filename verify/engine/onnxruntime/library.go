//go:build darwin || linux

package onnxruntime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// apiVersion is the version of the table of functions that is asked for: libraries give
// every older one, too, and the functions that are called are of the first.
const apiVersion = 11

// Places of functions in OrtApi, in the order of onnxruntime_c_api.h, which is stable.
const (
	getErrorMessage          = 2
	createEnv                = 3
	createSession            = 7
	run                      = 9
	createSessionOptions     = 10
	disableMemPattern        = 17
	disableCPUMemArena       = 19
	setLogSeverity           = 22
	setOptimization          = 23
	setIntraOpThreads        = 24
	setInterOpThreads        = 25
	inputCount               = 30
	outputCount              = 31
	inputTypeInfo            = 33
	inputName                = 36
	outputName               = 37
	createTensorWithData     = 49
	isTensor                 = 50
	tensorData               = 51
	castToTensorInfo         = 55
	elementType              = 60
	dimensionsCount          = 61
	dimensions               = 62
	symbolicDimensions       = 63
	elementCount             = 64
	tensorTypeAndShape       = 65
	createCPUMemoryInfo      = 69
	allocatorFree            = 76
	defaultAllocator         = 78
	releaseStatus            = 93
	releaseSession           = 95
	releaseValue             = 96
	releaseTypeInfo          = 98
	releaseTensorInfo        = 99
	releaseSessionOptions    = 100
	functions                = 101 // that are read of the table
	severityFatal            = 4
	deviceAllocator, cpuType = 0, 0 // OrtDeviceAllocator and OrtMemTypeDefault
)

// Library is a loaded ONNX Runtime. It stays loaded.
type Library struct {
	Path, Version string
	api           *[functions]uintptr
	message       func(status uintptr) string
	env           uintptr
	memory        uintptr
	allocator     uintptr
}

// Load opens the library of $ORT_LIB, or else of the loader's path, or else the one that
// a Python installation has ($ENGINES_PYTHON or python3). The error says where it was
// looked for, and why what was found is none.
func Load() (*Library, error) {
	if file := os.Getenv("ORT_LIB"); file != "" {
		l, err := open(file)
		if err != nil {
			return nil, fmt.Errorf("ORT_LIB: %w", err)
		}
		return l, nil
	}
	var why []error
	for _, file := range slices.Concat(loaderNames, ofPython()) {
		l, err := open(file)
		if err == nil {
			return l, nil
		}
		why = append(why, err)
	}
	last := why[len(why)-1]
	return nil, fmt.Errorf("no ONNX Runtime: neither $ORT_LIB, the loader's path nor Python ($ENGINES_PYTHON or python3) has %s (pip install onnxruntime; or set ORT_LIB): %w", loaderNames[0], last)
}

// loaderNames are looked for by the system's loader.
var loaderNames = map[string][]string{
	"linux":  {"libonnxruntime.so", "libonnxruntime.so.1"},
	"darwin": {"libonnxruntime.dylib"},
}[runtime.GOOS]

// ofPython lists the libraries in a Python installation's folders of packages.
func ofPython() []string {
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" {
		python = "python3"
	}
	path, err := exec.LookPath(python)
	if err != nil {
		return nil
	}
	roots := []string{filepath.Dir(filepath.Dir(path))}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		roots = append(roots, filepath.Dir(filepath.Dir(real)))
	}
	roots = append(roots, filepath.Join(roots[0], "local")) // Debian's
	var out []string
	for _, root := range roots {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			for _, name := range []string{"libonnxruntime.so*", "libonnxruntime*.dylib"} {
				found, _ := filepath.Glob(filepath.Join(root, "lib*", "python3*", packages, "onnxruntime", "capi", name)) // the pattern is well formed
				out = append(out, found...)
			}
		}
	}
	return out
}

// open loads one file and takes its functions.
func open(file string) (*Library, error) {
	handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	entry, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, fmt.Errorf("%s is no ONNX Runtime: %w", file, err)
	}
	var base func() *struct{ api, version uintptr }
	purego.RegisterFunc(&base, entry)
	b := base()
	if b == nil {
		return nil, fmt.Errorf("%s: OrtGetApiBase gives nothing", file)
	}
	var api func(version uint32) unsafe.Pointer
	var version func() string
	purego.RegisterFunc(&api, b.api)
	purego.RegisterFunc(&version, b.version)
	table := api(apiVersion)
	if table == nil {
		return nil, fmt.Errorf("%s: ONNX Runtime %s has no functions of version %d: install 1.11 or newer", file, version(), apiVersion)
	}
	l := &Library{Path: file, Version: version(), api: (*[functions]uintptr)(table)}
	purego.RegisterFunc(&l.message, l.api[getErrorMessage])
	name := []byte("modelpatch\x00")
	if err := l.call(createEnv, severityFatal, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&l.env))); err != nil {
		return nil, err
	}
	if err := l.call(createCPUMemoryInfo, deviceAllocator, cpuType, uintptr(unsafe.Pointer(&l.memory))); err != nil {
		return nil, err
	}
	return l, l.call(defaultAllocator, uintptr(unsafe.Pointer(&l.allocator)))
}

// call calls a function that returns a status. What an argument points to is kept in
// its place in memory until the call is over.
//
//go:uintptrescapes
func (l *Library) call(function int, args ...uintptr) error {
	status, _, _ := purego.SyscallN(l.api[function], args...)
	if status == 0 {
		return nil
	}
	defer l.release(releaseStatus, status)
	return errors.New(strings.TrimSpace(l.message(status)))
}

// release gives an object back.
func (l *Library) release(function int, object uintptr) {
	if object != 0 {
		purego.SyscallN(l.api[function], object)
	}
}
