#include "textflag.h"

// Constants, each four times.
#define FOUR(name, bits) \
	DATA name<>+0(SB)/8, bits \
	DATA name<>+8(SB)/8, bits \
	DATA name<>+16(SB)/8, bits \
	DATA name<>+24(SB)/8, bits \
	GLOBL name<>(SB), RODATA|NOPTR, $32

FOUR(least, $0xc086200000000000)  // −708: below, exp is 0 here
FOUR(log2e, $0x3ff71547652b82fe)  // 1/ln 2
FOUR(ln2hi, $0x3fe62e42fee00000)  // ln 2 in two parts
FOUR(ln2lo, $0x3dea39ef35793c76)
FOUR(magic, $0x4338000000000000)  // 1.5·2⁵²: its last bits become the integer that is added
FOUR(c13, $0x3de6124613a86d09)    // 1/13!
FOUR(c12, $0x3e21eed8eff8d898)
FOUR(c11, $0x3e5ae64567f544e4)
FOUR(c10, $0x3e927e4fb7789f5c)
FOUR(c9, $0x3ec71de3a556c734)
FOUR(c8, $0x3efa01a01a01a01a)
FOUR(c7, $0x3f2a01a01a01a01a)
FOUR(c6, $0x3f56c16c16c16c17)
FOUR(c5, $0x3f81111111111111)
FOUR(c4, $0x3fa5555555555555)
FOUR(c3, $0x3fc5555555555555)
FOUR(c2, $0x3fe0000000000000)
FOUR(c1, $0x3ff0000000000000)     // 1

// func fastExp(x *float64, n int, highest float64) float64
// x = exp(x − highest) for n elements, a multiple of 4; their sum.
TEXT ·fastExp(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSD highest+16(FP), Y15
	VXORPD Y14, Y14, Y14
	VMOVUPD log2e<>(SB), Y13
	VMOVUPD ln2hi<>(SB), Y12
	VMOVUPD ln2lo<>(SB), Y11
	VMOVUPD magic<>(SB), Y10
	SHRQ $2, CX
	JE done
loop:
	VMOVUPD (DI), Y0
	VSUBPD Y15, Y0, Y0
	VCMPPD $13, least<>(SB), Y0, Y9 // ≥
	VMAXPD least<>(SB), Y0, Y0
	VMULPD Y13, Y0, Y1
	VROUNDPD $0, Y1, Y1
	VFNMADD231PD Y12, Y1, Y0
	VFNMADD231PD Y11, Y1, Y0
	VADDPD Y10, Y1, Y1
	VPSLLQ $52, Y1, Y1
	VMOVUPD c13<>(SB), Y2
	VFMADD213PD c12<>(SB), Y0, Y2
	VFMADD213PD c11<>(SB), Y0, Y2
	VFMADD213PD c10<>(SB), Y0, Y2
	VFMADD213PD c9<>(SB), Y0, Y2
	VFMADD213PD c8<>(SB), Y0, Y2
	VFMADD213PD c7<>(SB), Y0, Y2
	VFMADD213PD c6<>(SB), Y0, Y2
	VFMADD213PD c5<>(SB), Y0, Y2
	VFMADD213PD c4<>(SB), Y0, Y2
	VFMADD213PD c3<>(SB), Y0, Y2
	VFMADD213PD c2<>(SB), Y0, Y2
	VFMADD213PD c1<>(SB), Y0, Y2
	VFMADD213PD c1<>(SB), Y0, Y2
	VPADDQ Y1, Y2, Y2
	VANDPD Y9, Y2, Y2
	VMOVUPD Y2, (DI)
	VADDPD Y2, Y14, Y14
	ADDQ $32, DI
	DECQ CX
	JNE loop
done:
	VEXTRACTF128 $1, Y14, X0
	VADDPD X0, X14, X0
	VHADDPD X0, X0, X0
	VMOVSD X0, ret+24(FP)
	VZEROUPPER
	RET
