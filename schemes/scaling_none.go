package schemes

// ScalingNone leaves frequencies as they are (Su et al. 2021).
const ScalingNone = "none"

var typeNone = ScalingType{Name: ScalingNone, Title: "No scaling", Aliases: []string{"default"}, Source: "Su et al. 2021, §3.2.2",
	Settable: true, Complete: always, ggml: func(Rotary, *ggmlSteps) {}}
