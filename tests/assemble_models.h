/* Models that have every kind of row in every variant, for test_assemble.c. */
#ifndef ASSEMBLE_MODELS_H
#define ASSEMBLE_MODELS_H

static const struct {
  const char *name, *xml;
} models[] = {
    {"joints", /* scalar rows: limits, dry friction, polynomials; ball joints; a tendon without coefficients */
     "<mujoco><option timestep='0.004'/><compiler angle='radian' autolimits='true'/><worldbody>"
     "<body pos='0 0 2'><joint name='s' type='slide' axis='1 .2 0' range='-.1 .1' margin='.02' frictionloss='.3'/>"
     " <geom size='.1 .2 .1' type='box'/><site name='s0' pos='.1 .1 .1'/>"
     " <body pos='0 .5 0'><joint name='h' axis='0 1 .3' range='-.4 .3' solreflimit='-300 -7' solimplimit='.8 .97 .05 "
     ".3 3'/>"
     "  <geom size='.1 .1 .2' type='box'/>"
     "  <body pos='.4 0 0'><joint name='b' type='ball' range='0 .25' margin='.1' solimplimit='.3 .99 .2 .7 1.5'/>"
     "   <geom size='.2 .1 .05' type='box'/>"
     "   <body pos='.4 0 0'><joint name='h2' axis='1 0 0' frictionloss='.2' solreffriction='.05 .3' solimpfriction='.7 "
     ".99 0 .5 2'/>"
     "    <geom size='.05 .2' type='capsule'/><site name='s1' pos='0 .1 .2'/></body></body></body></body>"
     "<body pos='3 0 2'><joint type='ball' range='0 .5' frictionloss='.1'/><geom size='.1' pos='.2 .1 0'/></body>"
     "<body pos='5 0 2'><joint type='ball' range='0 3.5' margin='9'/><geom size='.1' pos='.2 .1 0'/></body>"
     "<body pos='4 0 2'><joint type='slide' axis='0 0 1' range='.1 .1' margin='.4'/><geom "
     "size='.1'/></body></worldbody>"
     "<tendon><fixed name='t1' range='-.05 .05' margin='.2' frictionloss='.4'>"
     "  <joint joint='s' coef='1'/><joint joint='h' coef='-.6'/></fixed>"
     " <fixed name='t2' limited='true' range='.1 .2' solreflimit='.03 .7'><joint joint='h2' coef='2'/></fixed>"
     " <fixed name='t0' range='1 2' frictionloss='.1'><joint joint='h' coef='0'/></fixed>"
     " <spatial name='t3' range='.1 .3' frictionloss='.2' solreffriction='-9 -3' solimpfriction='.2 .9 .1 .2 4'>"
     "  <site site='s0'/><site site='s1'/></spatial></tendon>"
     "<equality><joint joint1='h' joint2='h2' polycoef='.1 .7 -.3 .2 .5' solimp='.6 .9 .4 .2 2.5'/>"
     " <joint joint1='s' polycoef='.05 9 9 9 9' solref='.01 .5'/>"
     " <tendon tendon1='t1' tendon2='t2' polycoef='.02 .5 .1 0 -.2'/>"
     " <joint joint1='s' joint2='h' polycoef='0 0 0 0 0' active='false'/>"
     " <tendon tendon1='t0'/><tendon tendon1='t3' tendon2='t1'/>"
     " <tendon tendon1='t2' polycoef='-.03 1 0 0 0' solref='-500 0'/></equality></mujoco>"},
    {"loops", /* connect and weld, by bodies and by sites */
     "<mujoco><option timestep='0.002'/><worldbody>"
     "<site name='w' pos='.3 .1 1.2' quat='.9 .1 .2 .3'/>"
     "<body name='a' pos='0 0 1' euler='10 20 30'><freejoint/><geom type='box' size='.1 .2 .3'/>"
     " <site name='as' pos='.1 0 .2' euler='5 0 50'/></body>"
     "<body name='b' pos='.5 0 1'><joint type='ball'/><geom type='box' size='.3 .1 .1' pos='.2 0 0'/>"
     " <body name='c' pos='.5 0 0'><joint axis='0 1 1'/><joint type='slide' axis='1 0 0'/><geom type='box' size='.1 .1 "
     ".2'/>"
     "  <site name='cs' pos='0 .1 .1' quat='.8 .2 0 .5'/>"
     "  <body name='fixed' pos='.1 .1 0'><geom size='.05'/>"
     "   <body name='f' pos='0 .3 0'><joint axis='1 0 1'/><geom type='box' size='.1 .1 "
     ".2'/></body></body></body></body>"
     "<body name='e' pos='-.5 .2 1'><freejoint/><geom type='box' size='.1 .1 .3'/></body>"
     "<body name='x' pos='-3 0 1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><geom "
     "size='.1'/></body>"
     "<body name='mocap' mocap='true' pos='.2 .2 2'><geom size='.01'/></body>"
     "<body name='static' pos='.2 .2 3'><geom size='.01'/></body></worldbody>"
     "<equality>"
     "<connect body1='a' body2='b' anchor='.1 .2 .3' solimp='.5 .99 .3 .4 3'/>"
     "<connect body1='c' anchor='0 .1 .2'/>"
     "<connect body1='mocap' body2='static' anchor='0 .1 .2'/>"
     "<weld body1='a' body2='e' anchor='.05 .1 0' torquescale='.3' solimp='.5 .99 2 .4 3'/>"
     "<weld body1='c' body2='a' relpose='.1 .2 .3 .9 .1 -.2 .3' solref='-90 -4'/>"
     "<weld body1='mocap' body2='x' torquescale='2'/>"
     "<weld body1='f' body2='c' torquescale='.5' solimp='.1 .9 5 .5 1'/>"
     "<connect body1='f' body2='b' anchor='.1 0 .1'/>"
     "<connect body1='fixed' body2='c' anchor='.1 0 .1'/>"
     "<weld site1='as' site2='cs' torquescale='2.5'/>"
     "<connect site1='w' site2='as' solref='.001 .4'/></equality></mujoco>"},
    {"contacts", /* every dim, mixing, priorities, pairs; self-contact in a tree */
     "<mujoco><option timestep='0.005'/><default><geom margin='.02'/></default><worldbody>"
     "<geom name='floor' type='plane' size='5 5 .1' condim='1' friction='.4 .01 .002' solmix='2'/>"
     "<body pos='0 0 .09'><freejoint/><geom size='.1' condim='1'/></body>"
     "<body pos='1 0 .09'><freejoint/><geom size='.1' condim='3' friction='.7 .1 .1' solref='-500 -20'/></body>"
     "<body pos='2 0 .09' euler='3 4 0'><freejoint/><geom type='box' size='.2 .1 .1' condim='4' solimp='.3 .98 .05 .3 "
     "2.7'/></body>"
     "<body pos='3 0 .095'><freejoint/><geom size='.1' condim='6' friction='1.3 .05 .03' priority='1' "
     "gap='.01'/></body>"
     "<body pos='4 0 .11'><freejoint/><geom size='.1' margin='0' gap='.5'/></body>"
     "<body pos='-1 0 .08'><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/><geom name='g' type='capsule' "
     "size='.1 .2'/></body>"
     "<body pos='-1 .35 .08' euler='90 0 0'><freejoint/><geom name='k' type='capsule' size='.1 .2' condim='6'/></body>"
     "<body pos='-3 0 .08'><freejoint/><geom name='p' size='.1'/></body>"
     "<body pos='-4 0 .3'><freejoint/><geom size='.1' condim='4'/>"
     " <body pos='.2 0 0'><joint axis='0 1 0'/><geom size='.1' pos='0 0 0' condim='6'/>"
     "  <body pos='.05 0 0'><joint axis='0 0 1'/><geom size='.12' condim='6'/></body></body></body>"
     "<body pos='2 3 .1'><joint type='slide' axis='0 0 1'/><geom size='.1' solmix='0' solimp='.1 .8 .1 .2 1'/></body>"
     "<body name='m' mocap='true' pos='2 3 .15'><geom size='.1' condim='4' friction='.1 .2 .3'/></body>"
     "</worldbody><contact><pair geom1='floor' geom2='p' condim='6' friction='.5 .9 .02 .003 .004'"
     "  solreffriction='.03 .8' solref='.015 .6' margin='.03'/>"
     " <pair geom1='g' geom2='k' condim='4' solreffriction='-3 -5' friction='.8 .2 .1 .1 .1' margin='.3'/>"
     "</contact></mujoco>"},
    {"degenerate", /* mixed signs, zeros, widths and impedances out of range, rows that may be empty */
     "<mujoco><option timestep='0.01' impratio='3'><flag refsafe='disable'/></option><compiler "
     "autolimits='true'/><worldbody>"
     "<geom type='plane' size='5 5 .1' friction='0 0 0'/>"
     "<body pos='0 0 .09'><freejoint/><geom size='.1' condim='6' friction='0 0 0' solref='.02 -1'/></body>"
     "<body pos='1 0 .09'><freejoint/><geom size='.1' solref='0 0' priority='1'/></body>"
     "<body pos='2 0 .09'><freejoint/><geom name='mix' size='.1' solimp='0 1 0 0 0' priority='2'/></body>"
     "<body pos='3 0 .09'><freejoint/><geom size='.1' solimp='2 -1 -.1 3 .2' priority='2' solref='-1 .5'/></body>"
     "<body pos='0 0 2'><joint name='x' type='slide' range='-.1 .1' margin='.3' solreflimit='1e-9 1'/><geom "
     "size='.1'/></body>"
     "<body name='pin' pos='0 0 3'><joint axis='0 0 1'/><geom size='.1'/></body></worldbody>"
     "<equality><connect body1='pin' anchor='0 0 .25'/></equality></mujoco>"},
    {"override", /* opt.o_* in the place of the geoms' parameters */
     "<mujoco><option o_margin='.05' o_solref='.03 .7' o_solimp='.5 .97 .03 .4 3' o_friction='.9 .8 .03 .02 .01'>"
     "<flag override='enable'/></option><worldbody>"
     "<geom name='floor' type='plane' size='5 5 .1' condim='6'/>"
     "<body pos='0 0 .09'><freejoint/><geom size='.1' condim='1'/></body>"
     "<body pos='1 0 .12'><freejoint/><geom size='.1' condim='3' friction='.7 .1 .1' solref='-500 -20' "
     "gap='.02'/></body>"
     "<body pos='2 0 .13'><joint type='slide' axis='0 0 1' range='0 .1' limited='true'/><geom name='q' "
     "size='.1'/></body>"
     "</worldbody><contact><pair geom1='floor' geom2='q' condim='4' margin='.2' friction='0 0 0 0 "
     "0'/></contact></mujoco>"},
    {"actuators", /* transmissions of every kind, that of contacts included */
     "<mujoco><option gravity='1 2 -9.81'/><worldbody><geom type='plane' size='5 5 .1'/>"
     "<body pos='0 0 .09'><freejoint/><geom size='.1'/><site name='s'/></body>"
     "<body name='g' pos='1 0 .09'><joint name='j' type='slide' axis='0 0 1' armature='.1' damping='.2'/><geom "
     "size='.1'/></body></worldbody>"
     "<tendon><fixed name='t'><joint joint='j' coef='.4'/></fixed></tendon>"
     "<actuator><adhesion body='g' gain='3' ctrlrange='0 1'/><motor joint='j'/><position tendon='t' kp='3'/>"
     " <motor site='s' gear='1 2 3 4 5 6'/></actuator></mujoco>"},
#if mjVERSION_HEADER >= 4000000
    {"speculative", /* contacts beyond the margin that have rows */
     "<mujoco><option timestep='0.005'><flag speculative='enable'/></option><worldbody><geom type='plane' size='5 5 "
     ".1'/>"
     "<body pos='0 0 .11'><freejoint/><geom size='.1'/></body><body pos='1 0 .09'><freejoint/><geom size='.1' "
     "margin='.01' gap='.05'/></body>"
     "<body pos='2 0 .3'><joint type='slide' axis='0 0 1'/><geom size='.1' margin='.01' "
     "gap='.05'/></body></worldbody></mujoco>"},
#endif
#if mjVERSION_HEADER >= 3011000
    {"surfaces", /* surface velocity and adhesion, in and beyond the margin */
     "<mujoco><option timestep='0.005'/><worldbody>"
     "<geom name='floor' type='plane' size='5 5 .1' surfacevel='.5 -.3 .1 .2 .1 .7' friction='.4 .01 .002'/>"
     "<body pos='0 0 .09'><freejoint/><geom size='.1' condim='1' adhesion='3'/></body>"
     "<body pos='1 0 .09'><freejoint/><geom size='.1' condim='3' surfacevel='.2 .3 .4 .5 .6 .7' adhesion='2'/></body>"
     "<body pos='2 0 .09' euler='3 4 0'><freejoint/><geom type='box' size='.2 .1 .1' condim='4' adhesion='5' "
     "priority='1'/></body>"
     "<body pos='3 0 .09'><freejoint/><geom size='.1' condim='6' surfacevel='1 2 3 4 5 6' adhesion='1' "
     "margin='.02'/></body>"
     "<body pos='4 0 .12'><joint type='slide' axis='0 0 1'/><geom name='far' size='.1' condim='6' adhesion='4' "
     "gap='.3'/></body>"
     "<body pos='-1 0 .11'><joint type='slide' axis='0 0 1'/><geom name='p' size='.1'/></body>"
     "</worldbody><contact><pair geom1='p' geom2='floor' condim='6' adhesion='7' margin='.3' "
     "gap='.1'/></contact></mujoco>"},
#endif
};

#endif
