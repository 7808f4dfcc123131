/* The programs that run on the graphics card. */
#ifndef DRAW_SHADERS_H
#define DRAW_SHADERS_H

/* Another language from here on. */
/* clang-format off */
#define GLSL_TEXT(...) "#version 330 core\n" #__VA_ARGS__
#define GLSL(...) GLSL_TEXT(__VA_ARGS__) /* expands macros first: no `bool` here */

/* Instanced objects; in the shadow pass only the position matters. */
static const char kObjectVertex[] = GLSL(
    layout(location = 0) in vec3 position;
    layout(location = 1) in vec3 normal;
    layout(location = 2) in vec4 row0;
    layout(location = 3) in vec4 row1;
    layout(location = 4) in vec4 row2;
    layout(location = 5) in vec4 tint;
    layout(location = 6) in vec4 faceColour;
    layout(location = 7) in int culledFirst;
    uniform mat4 viewProjection;
    uniform mat4 lightProjection;
    out vec3 worldPosition;
    out vec3 worldNormal;
    out vec4 colour;
    out vec4 inLight;
    flat out int firstWord;
    void main()
    {
        vec4 p = vec4(position, 1.0);
        worldPosition = vec3(dot(row0, p), dot(row1, p), dot(row2, p));
        worldNormal = vec3(dot(row0.xyz, normal), dot(row1.xyz, normal), dot(row2.xyz, normal));
        colour = vec4(mix(tint.rgb, faceColour.rgb, faceColour.a), 1.0);
        firstWord = culledFirst;
        inLight = lightProjection * vec4(worldPosition, 1.0);
        gl_Position = viewProjection * vec4(worldPosition, 1.0);
    }
);

/* Of a container what stands between the eye and its inside is left out: near walls, lid, rim. */
#define GLSL_CONTAINER                                                                             \
    uniform vec3 eye;                                                                              \
    uniform vec3 target;                                                                           \
    uniform int isContainer;                                                                       \
    float InTheWay(vec3 p, vec3 n)                                                                 \
    {                                                                                              \
        if (isContainer == 0)                                                                      \
            return -1.0;                                                                           \
        if (abs(n.z) < 0.5)                                                                        \
            return dot(p.xy - target.xy, eye.xy - target.xy);                                      \
        return n.z > 0.0 ? p.z - target.z : -1.0;                                                  \
    }

static const char kShadowFragment[] = GLSL(
    in vec3 worldPosition;
    in vec3 worldNormal;
    GLSL_CONTAINER
    void main()
    {
        if (InTheWay(worldPosition, worldNormal) > 0.0)
            discard;
    }
);

/* The ground is drawn with the same light: a checked plane that fades into the distance. */
static const char kObjectFragment[] = GLSL(
    in vec3 worldPosition;
    in vec3 worldNormal;
    in vec4 colour;
    in vec4 inLight;
    flat in int firstWord;
    GLSL_CONTAINER
    uniform int showCulled;
    uniform usamplerBuffer culledFaces;
    uniform vec3 toLight;
    uniform sampler2DShadow shadowMap;
    uniform float shadowTexel;
    uniform int isGround;
    uniform int isFlat;
    uniform float horizon;
    uniform vec3 fog;
    out vec4 result;

    float Lit()
    {
        if (shadowTexel <= 0.0)
            return 1.0;
        vec3 p = inLight.xyz / inLight.w * 0.5 + 0.5;
        if (p.z > 1.0 || any(lessThan(p.xy, vec2(0.0))) || any(greaterThan(p.xy, vec2(1.0))))
            return 1.0;
        float sum = 0.0;
        for (int y = -2; y <= 2; ++y)
            for (int x = -2; x <= 2; ++x)
                sum += texture(shadowMap, vec3(p.xy + vec2(x, y) * shadowTexel * 0.9, p.z));
        return sum / 25.0;
    }

    /* squares of 1 m, blurred to their mean where they are smaller than a pixel */
    vec3 Checked(vec2 p)
    {
        vec2 size = max(fwidth(p), vec2(1e-4));
        vec2 a = (abs(fract((p - 0.5 * size) * 0.5) - 0.5) -
                  abs(fract((p + 0.5 * size) * 0.5) - 0.5)) / (size * 0.5);
        float check = 0.5 - 0.5 * a.x * a.y;
        return mix(vec3(0.34, 0.36, 0.39), vec3(0.42, 0.44, 0.47), check);
    }

    void main()
    {
        if (isFlat == 1) {
            result = colour;
            return;
        }
        vec3 n = normalize(worldNormal);
        if (InTheWay(worldPosition, n) > 0.0)
            discard;
        vec3 toEye = normalize(eye - worldPosition);
        if (dot(n, toEye) < 0.0)
            n = -n;
        vec3 base = isGround == 1 ? Checked(worldPosition.xy) : colour.rgb;
        if (showCulled == 1 && isGround == 0 && firstWord >= 0) {
            uint word = texelFetch(culledFaces, firstWord + gl_PrimitiveID / 32).r;
            base = ((word >> uint(gl_PrimitiveID % 32)) & 1u) == 1u ? vec3(0.06, 0.20, 0.55)
                                                                   : vec3(0.90, 0.35, 0.05);
        }
        vec3 sky = mix(vec3(0.30, 0.28, 0.27), vec3(0.52, 0.57, 0.66), 0.5 + 0.5 * n.z);
        float key = max(dot(n, toLight), 0.0) * Lit();
        float shine = pow(max(dot(n, normalize(toLight + toEye)), 0.0), 48.0) * key;
        float rim = pow(1.0 - max(dot(n, toEye), 0.0), 4.0);
        vec3 lit = base * (sky + key * vec3(1.05, 0.98, 0.88));
        if (isGround == 0)
            lit += vec3(0.22) * shine + vec3(0.10, 0.12, 0.15) * rim;
        float away = isGround == 1
            ? smoothstep(0.35, 1.0, length(worldPosition - eye) / horizon) : 0.0;
        result = vec4(mix(lit, fog, away), 1.0);
    }
);

/* A triangle that covers everything. */
static const char kScreenVertex[] = GLSL(
    out vec2 at;
    void main()
    {
        at = vec2(gl_VertexID == 1 ? 2.0 : 0.0, gl_VertexID == 2 ? 2.0 : 0.0);
        gl_Position = vec4(at * 2.0 - 1.0, 0.0, 1.0);
    }
);

static const char kSkyFragment[] = GLSL(
    in vec2 at;
    uniform vec3 low;
    uniform vec3 high;
    out vec4 result;
    void main()
    {
        result = vec4(mix(low, high, smoothstep(0.0, 1.0, at.y)), 1.0);
    }
);

/* How much of the sky each pixel sees, from the depths around it. */
static const char kOcclusionFragment[] = GLSL(
    in vec2 at;
    uniform sampler2D depths;
    uniform mat4 unproject;
    uniform mat4 projection;
    uniform float radius;
    out float result;

    vec3 ViewAt(vec2 p)
    {
        vec4 v = unproject * vec4(vec3(p, texture(depths, p).r) * 2.0 - 1.0, 1.0);
        return v.xyz / v.w;
    }

    void main()
    {
        if (texture(depths, at).r >= 1.0) {
            result = 1.0;
            return;
        }
        /* the normal from the nearer neighbours, so that edges do not smear */
        vec3 p = ViewAt(at);
        vec2 texel = 1.0 / vec2(textureSize(depths, 0));
        vec3 right = ViewAt(at + vec2(texel.x, 0.0)) - p;
        vec3 left = p - ViewAt(at - vec2(texel.x, 0.0));
        vec3 up = ViewAt(at + vec2(0.0, texel.y)) - p;
        vec3 down = p - ViewAt(at - vec2(0.0, texel.y));
        vec3 n = normalize(cross(abs(left.z) < abs(right.z) ? left : right,
                                 abs(down.z) < abs(up.z) ? down : up));
        /* a spiral of samples, turned anew for each pixel */
        float turn = 6.2831853 *
            fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
        float reach = radius * projection[1][1] / -p.z * 0.5;
        float blocked = 0.0;
        for (int i = 0; i < 14; ++i) {
            float a = turn + float(i) * 2.3999632;
            float r = reach * sqrt((float(i) + 0.5) / 14.0);
            vec2 q = at + r * vec2(cos(a) * projection[0][0] / projection[1][1], sin(a));
            vec3 d = ViewAt(q) - p;
            float length2 = dot(d, d) + 1e-12;
            float near = max(0.0, 1.0 - length2 / (radius * radius));
            blocked += near * max(0.0, dot(d, n) / sqrt(length2) - 0.12);
        }
        result = clamp(1.0 - 2.0 * blocked / 14.0, 0.0, 1.0);
    }
);

/* Colour times blurred occlusion, then to the screen's range. */
static const char kFinishFragment[] = GLSL(
    in vec2 at;
    uniform sampler2D picture;
    uniform sampler2D occlusion;
    uniform int useOcclusion;
    out vec4 result;
    void main()
    {
        vec3 c = 0.78 * texture(picture, at).rgb;
        if (useOcclusion == 1) {
            vec2 texel = 1.0 / vec2(textureSize(occlusion, 0));
            float sum = 0.0;
            for (int y = -2; y < 2; ++y)
                for (int x = -2; x < 2; ++x)
                    sum += texture(occlusion, at + (vec2(x, y) + 0.5) * texel).r;
            c *= mix(0.25, 1.0, sum / 16.0);
        }
        c = c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14);
        result = vec4(pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
    }
);

/* Flat colour in pixels, for text and panels. */
static const char kTextVertex[] = GLSL(
    layout(location = 0) in vec2 position;
    uniform vec2 pixels;
    void main()
    {
        vec2 p = position / pixels * 2.0 - 1.0;
        gl_Position = vec4(p.x, -p.y, 0.0, 1.0);
    }
);

static const char kTextFragment[] = GLSL(
    uniform vec4 colour;
    out vec4 result;
    void main()
    {
        result = colour;
    }
);
/* clang-format on */

#endif
